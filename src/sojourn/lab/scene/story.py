"""The script: eight turns of one working day on the scratch repository, the answers of the scripted model in each."""

from sojourn.lab.scene.moves import bash, commit, edit, glob, grep, log, read, step, write
from sojourn.models.scripted import Check, Look, Plan, Turn, Use

_SRC = "src/lockerd/"
_FEE_OLD = "    return late // MINUTES_A_DAY + 1\n"
_FEE_NEW = "    return -(-late // MINUTES_A_DAY)\n"
_FITS_OLD = """    return (
        parcel.width + PADDING <= space.width
        and parcel.height + PADDING <= space.height
        and parcel.depth + PADDING <= space.depth
    )
"""
_FITS_NEW = """    sides = zip(parcel.sorted(), space.sorted(), strict=True)
    return all(side + PADDING <= room for side, room in sides)
"""
_TURNED_OLD = """def test_no_room():
"""
_TURNED_NEW = """@cases(("442x60x300", 80), ("430x180x340", 200), ("440x95x320", 200))
def test_the_order_of_the_sides_does_not_matter(size, height):
    \"\"\"The night of 9 March: since its new firmware K-12 sorts the sides of its doors.\"\"\"
    parcel = Size(*(int(side) for side in size.split("x")))
    equal(fits(parcel, Size(450, height, 350)), True)
    equal(fits(parcel, Size(450, 350, height)), True)


def test_no_room():
"""
_REPORT_TEST = '''"""Reports."""

from pathlib import Path

from cases import DAY, cases, equal, parcel
from lockerd import report
from lockerd.tariff import Tariff

PRICES = Tariff(per_day=150, most=900, grace=30)
DATA = Path(__file__).resolve().parent.parent / "data" / "parcels.csv"


def test_the_week_is_read():
    rows = report.load(DATA)
    equal(len(rows), 900)
    equal(sum(report.stays(rows, 0).values()), 900)


@cases((1, 0), (4, 50), (5, 100))
def test_late_share(days, percent):
    early, late = parcel(fetched=days * DAY - 2 * DAY), parcel(fetched=days * DAY)
    rows = [report.Row("K-01", "Kestrel", one) for one in (early, late)]
    if days == 5:
        rows = rows[1:]
    equal(report.late_share(rows, 9 * DAY, PRICES), {"Kestrel": percent})
'''
_REPORT_OLD = """def table(rows: list[tuple[str, int, int, int]]) -> str:
"""
_REPORT_NEW = """def late_share(rows: list[Row], now: int, tariff: Tariff) -> dict[str, int]:
    \"\"\"Percent of each company's parcels that cost a late fee, rounded down. One pass: the rows are in memory already.\"\"\"
    parcels: Counter[str] = Counter()
    late: Counter[str] = Counter()
    for row in rows:
        parcels[row.company] += 1
        late[row.company] += late_fee(row.parcel, now, tariff) > 0
    return {company: late[company] * 100 // count for company, count in sorted(parcels.items())}


def table(rows: list[tuple[str, int, int, int]]) -> str:
"""
_CODES_OLD = """def test_taken_codes_are_left_out():
"""
_CODES_NEW = """def test_two_parcels_of_one_day_have_two_codes():
    \"\"\"The night of 9 March: a code that was used in the morning opened another door in the evening.\"\"\"
    codes = {issue(f"P{number}", 20_521, "secret") for number in range(200)}
    assert len(codes) >= 199, f"{len(codes)} codes for 200 parcels"


def test_taken_codes_are_left_out():
"""
_ISSUE_OLD = 'code = _code(f"{secret}:{day}:{attempt}")'
_ISSUE_NEW = 'code = _code(f"{secret}:{parcel_id}:{day}:{attempt}")'
_SMOKE = '{\n  "port": «port»,\n  "retention_days": «days»,\n  "locker": "«locker»"\n}\n'
_NOTES = """# Changes

## 10 March

- Late fees: «decision» (the check had said: «complaint»).
- Compartments: sides are compared sorted; before, couriers were sent away with «refusal».
- Codes: two parcels of one day no longer share a code.
- Reports: `report.late_share`; «limit».
- The audit trail is kept for «days» days.

Roll-out: staging on port «port», first locker «locker». On call: «person».
"""


def story(*, git: bool) -> Plan:
    """The plan; without git nothing is committed."""
    turns = (_acquaintance(), _fees(git), _sizes(git), _reports(git), _codes(git), _audit(git), _smoke(git), _notes(git))
    return Plan(turns)


def _acquaintance() -> Turn:
    prompt = (
        "Good morning! A few rules before we begin. Never touch db/migrations, the schema belongs to the warehouse team. "
        "Run ./check before every commit. In this code amounts stay whole cents, never floats. "
        "Staging listens on port 8471. Mirela is on call this week, so name her wherever somebody has to be called.\n\n"
        "First, get to know the project and tell me where late fees are computed and whether the tests are green."
    )
    return Turn(
        prompt,
        (
            step(
                "I begin with what the project says about itself.", read("README.md"), read("CONTRIBUTING.md"), glob("**/*.py")
            ),
            step("How the lockers talk, and how it is run.", read("docs/protocol.md"), read("docs/operations.md")),
            step("The values first, then the prices.", read(_SRC + "model.py"), read(_SRC + "tariff.py")),
            step("How a parcel finds its door.", read(_SRC + "allocate.py"), read(_SRC + "codes.py"), read(_SRC + "expiry.py")),
            step("Where it is kept, and who brings it.", read(_SRC + "store.py"), read(_SRC + "courier.py")),
            step(
                "What people are told and what is noted.",
                read(_SRC + "notify.py"),
                read(_SRC + "audit.py"),
                read(_SRC + "report.py"),
            ),
            step(
                "Settings and the outside.",
                read(_SRC + "settings.py"),
                read(_SRC + "api.py"),
                read("config/service.json"),
                read("config/tariff.json"),
            ),
            step(
                "The schema: only to read.", read("db/migrations/0001_parcels.sql"), read("db/migrations/0002_compartments.sql")
            ),
            step("How tests are written here.", read("tests/run.py"), read("tests/cases.py"), read("tests/test_tariff.py")),
            step("Who asks for a fee?", grep(r"late_fee|late_days", "tariff.py")),
            step("Are the tests green?", bash("./check", "^AssertionError: 300 != 150$", "^1 failed, 221 passed$", fails=True)),
            step(
                "The devices' own export, and one week of parcels.",
                read("config/lockers.json", 1, 90),
                read("data/parcels.csv", 1, 140),
            ),
            step(
                "Late fees are computed in one place, `late_fee` in src/lockerd/tariff.py; `late_days` counts the days, and "
                "the prices stand in config/tariff.json. The API, the texts and the reports all ask that function.\n\n"
                "The tests are not green: 221 pass, test_fetched_exactly_one_day_late in tests/test_tariff.py fails with "
                "300 != 150. Your rules are noted: the schema stays as it is, ./check runs before every commit."
            ),
        ),
    )


def _fees(git: bool) -> Turn:
    prompt = (
        "That failing test is a real complaint: somebody who came exactly 96 hours after the drop-off paid 3.00 instead of "
        "1.50. Please find the cause and fix it in tariff.py, nowhere else."
    )
    return Turn(
        prompt,
        (
            step("First I see it fail by itself.", bash("./check tariff", "^AssertionError: 300 != 150$", fails=True)),
            step("The function and its tests.", read(_SRC + "tariff.py"), read("tests/test_tariff.py")),
            step("Does anything else divide by a day?", grep("MINUTES_A_DAY", "tariff.py"), read(_SRC + "expiry.py")),
            step("How many of last week's parcels are meant?", read("data/parcels.csv", 200, 180)),
            step("And what was asked for last night?", bash("grep ' fee=' var/log/lockerd.log | tail -n 150", "fee=150 cents")),
            step("What was the first charge of the night, and was it right?", log(1, 145)),
            step(
                "The prices, and what people are told.",
                read("config/tariff.json"),
                read(_SRC + "notify.py"),
                read(_SRC + "report.py"),
            ),
            step(
                "1440 // 1440 + 1 is 2: the day is counted twice when the delay is a whole number of days.",
                edit(_SRC + "tariff.py", _FEE_OLD, _FEE_NEW),
            ),
            step(
                "The same test again.",
                bash("./check tariff", "^test_tariff.py::test_fetched_exactly_one_day_late passed$", "^57 passed$"),
            ),
            step("Does a quote on the help page change with it?", read(_SRC + "api.py"), grep("quote", "api.py")),
            step("All checks, as you asked, before the commit.", bash("./check", "^222 passed$")),
            *commit("Bill a started day once", git=git),
            step(
                "Fixed. `late // day + 1` counted one day too many whenever the delay was a whole number of days. "
                "Decision: a started day is billed once, so the division rounds up. "
                "All 222 checks pass; nothing but tariff.py was changed."
            ),
        ),
    )


def _sizes(git: bool) -> Turn:
    prompt = (
        "谢谢！再加两条规矩：不要改 config/lockers.json，那是现场设备导出的；提交说明一律用英文。\n\n"
        "昨晚 K-12 柜的快递员一直收到 E-4107，柜子明明有空位。请查明原因并修好，先写一个会失败的测试。"
    )
    return Turn(
        prompt,
        (
            step("先看日志里有多少次。", bash("grep -n 'E-4107' var/log/lockerd.log", "no compartment for 442x60x300 at K-12")),
            step("第一次出现前后发生了什么？", log(580, 725)),
            step("再看后面几次。", log(755, 900)),
            step("610 行附近 K-12 重新上线，固件是 2.8.3。协议怎么说？", read("docs/protocol.md"), read("docs/operations.md")),
            step("升级之前 K-12 有没有这个错误？", log(430, 575)),
            step("谁在比较尺寸？", grep(r"fits\(|sorted\(", "allocate.py"), read(_SRC + "allocate.py")),
            step("设备导出的尺寸，只看不改。", bash("grep -A 13 -e '\"K-11\"' -e '\"K-12\"' config/lockers.json", "2.8.3")),
            step("现有的测试。", read("tests/test_allocate.py"), read(_SRC + "model.py")),
            step("先写一个会失败的测试，尺寸取自日志。", edit("tests/test_allocate.py", _TURNED_OLD, _TURNED_NEW)),
            step("它应该失败。", bash("./check allocate", "^AssertionError: False != True$", "^3 failed, ", fails=True)),
            step("把两边的尺寸都排序后再比较。", edit(_SRC + "allocate.py", _FITS_OLD, _FITS_NEW)),
            step("再跑一次。", bash("./check allocate", "^27 passed$")),
            step("下单和入库会受影响吗？", read(_SRC + "courier.py"), read(_SRC + "store.py"), read("tests/test_store.py")),
            step("后半夜还有别的错误吗？", log(1560, 1700)),
            step("提交之前跑全部检查。", bash("./check", "^225 passed$")),
            *commit("Compare sizes with their sides sorted", git=git),
            step(
                "修好了。K-12 昨晚升级到固件 2.8.3，从此它把三个边长从大到小上报，而 fits() 按宽、高、深逐项比较，"
                "于是放得下的包裹也被拒绝。决定：尺寸一律排序后再比较，因为包裹本来就可以翻转。"
                "新测试先失败后通过，config/lockers.json 没有动，提交说明是英文。"
            ),
        ),
    )


def _reports(git: bool) -> Turn:
    prompt = (
        "Next: the depot wants to know which company's parcels are late most often. Add `late_share` to report.py, percent by "
        "company, with tests first. And please look at the E-5003 of last night: no report may hold the database for more than "
        "20 minutes, that is a new rule."
    )
    return Turn(
        prompt,
        (
            step(
                "The error first.",
                bash("grep -n 'E-5003' var/log/lockerd.log", "held it for 41 minutes"),
                read(_SRC + "store.py", 1, 50),
            ),
            step("What went on around it?", log(1700, 1845)),
            step("How long do parcels stay? The rest of the week.", read("data/parcels.csv", 600, 180)),
            step("The reports.", read(_SRC + "report.py"), read(_SRC + "tariff.py")),
            step(
                "Does any report keep a transaction open?",
                grep("transaction", "store.py"),
                grep("report", "E-5003", path="docs"),
            ),
            step("What the rows look like.", read("data/parcels.csv", 420, 180)),
            step("The tests first.", write("tests/test_report.py", _REPORT_TEST)),
            step("They fail: there is no such function yet.", bash("./check report", "no attribute 'late_share'", fails=True)),
            step(
                "Now the function, in one pass over rows that are in memory.",
                edit(_SRC + "report.py", _REPORT_OLD, _REPORT_NEW),
            ),
            step("Again.", bash("./check report", "^4 passed$")),
            step("Is the rest as before?", bash("./check", "^229 passed$")),
            *commit("Add the share of late parcels by company", git=git),
            step(
                "`report.late_share(rows, now, tariff)` gives the percentage by company; four tests cover it, the first "
                "over the whole week. The E-5003 was report.by_locker, run by hand against the live database for 41 minutes. "
                "The reports of this module read a file and hold no transaction, so the 20 minutes are kept by them."
            ),
        ),
    )


def _codes(git: bool) -> Turn:
    prompt = (
        "A correction: staging has moved, it listens on port 8512 from today; forget the other one. \n\n"
        "Then a nasty one: last night some doors opened with a code that somebody else had used in the morning. "
        "Find out how two parcels can get the same code and fix it, test first again."
    )
    return Turn(
        prompt,
        (
            step("How often, and where?", bash("grep -n 'opened twice' var/log/lockerd.log", "fetched the same day")),
            step("Around the first.", log(1000, 1145)),
            step("How codes are made and tested.", read(_SRC + "codes.py"), read("tests/test_codes.py")),
            step(
                "Who asks for a code, and with what?",
                grep(r"codes\.issue|store\.codes", "courier.py"),
                read(_SRC + "courier.py"),
            ),
            step("A later one, to be sure that it is the same.", log(1850, 1995)),
            step("What else did the pads say in that hour?", log(1200, 1345)),
            step("And the store: when is a code free again?", read(_SRC + "store.py"), read("tests/test_store.py")),
            step(
                "A code depends on secret, day and attempt only: free again, it goes to the next parcel of the day. The test.",
                edit("tests/test_codes.py", _CODES_OLD, _CODES_NEW),
            ),
            step("It fails.", bash("./check codes", "^AssertionError: 1 codes for 200 parcels$", fails=True)),
            step("The parcel has to be part of it.", edit(_SRC + "codes.py", _ISSUE_OLD, _ISSUE_NEW)),
            step("Again.", bash("./check codes", "^51 passed$")),
            step(
                "Are codes compared anywhere else?",
                read(_SRC + "api.py"),
                read(_SRC + "notify.py"),
                grep("code", "codes.py", path="src"),
            ),
            step("All of them.", bash("./check", "^230 passed$")),
            *commit("Make the code of a parcel its own", git=git),
            step(
                "Fixed. issue() never used the parcel: every parcel of a day got the same code as soon as the first was "
                "fetched. Decision: the parcel's id goes into the hash of its code. Staging's new port is "
                "noted; the old one is void."
            ),
        ),
    )


def _audit(git: bool) -> Turn:
    prompt = (
        "法务的要求：审计记录要保留 400 天，请改 config/service.json 并确认校验允许这个值。"
        "另外，凌晨两点到四点不要重启 staging，那时在跑清理。\n\n改完告诉我轮换会删掉哪些文件。"
    )
    return Turn(
        prompt,
        (
            step("先看审计和设置。", read(_SRC + "audit.py"), read(_SRC + "settings.py"), read("config/service.json")),
            step("测试里怎么说？", read("tests/test_settings.py"), read("tests/test_store.py")),
            step("谁用到 retention？", grep("retention", "settings.py")),
            step("改成 400。", edit("config/service.json", '"retention_days": 180', '"retention_days": 400')),
            step("校验通过吗？", bash("./check settings store", "^15 passed$")),
            step("昨夜清理前后的日志。", log(2060, 2205)),
            step("凌晨两点之后还有什么在写？", log(2300, 2400)),
            step("运行手册里的时间。", read("docs/operations.md"), read("CONTRIBUTING.md")),
            step("提交之前跑全部检查。", bash("./check", "^230 passed$")),
            *commit("Keep the audit trail for 400 days", git=git),
            step("审计记录现在保留 400 天，设置允许 90 到 3650 天。轮换只删除 400 天之前的日文件，名字不是日期的文件不会动。"),
        ),
    )


def _smoke(git: bool) -> Turn:
    prompt = (
        "Now prepare the roll-out. The first locker of the roll-out is K-12. Write deploy/smoke.json with staging's port, "
        "the retention and that locker, and validate it. Also prove that my rules were kept today."
    )
    looks = (
        Look(r"listens on port (\d{4})", "port"),
        Look(r"保留 (\d+) 天", "days"),
        Look(r"first locker of the roll-out is (K-\d\d)", "locker"),
    )
    untouched = Use(
        "bash",
        {"command": "git log --format=%s -- db/migrations config/lockers.json && git status --short"},
        (Check("^lockerd as it is in production$"),),
    )
    return Turn(
        prompt,
        (
            step("What does a roll-out ask for?", read("CONTRIBUTING.md"), read("tests/run.py")),
            step("The file, with what you told me.", write("deploy/smoke.json", _SMOKE), looks=looks),
            step("Is it valid?", bash("./check --smoke", "^smoke: port 8512, 400 days, first K-12: valid$")),
            *((step("Your rules: were the schema and the devices' export left alone?", untouched),) if git else ()),
            step("No amount became a float?", bash("! grep -n 'float(' src/lockerd/*.py")),
            step("K-12 in the last hours of the log.", log(2206, 2350)),
            step("And in the hour of its trouble.", log(1350, 1495)),
            step("The parcels of K-12.", bash("grep ',K-12,' data/parcels.csv", "K-12")),
            step("Everything once more.", bash("./check", "^230 passed$")),
            *commit("Prepare the roll-out", git=git),
            step(
                "deploy/smoke.json is valid: port «port», «days» days, first «locker». "
                "Schema and lockers.json were not touched.",
                looks=looks,
            ),
        ),
    )


def _notes(git: bool) -> Turn:
    prompt = (
        "Last: write CHANGELOG.md for today, from what you know, with the decisions and who is to be called. Short, please."
    )
    looks = (
        Look(r"(a started day is billed once, so the division rounds up)", "decision"),
        Look(r"(AssertionError: 300 != 150)", "complaint"),
        Look(r"(E-4107 no compartment for 442x60x300 at K-12)", "refusal"),
        Look(r"(no report may hold the database for more than\s+20 minutes)", "limit"),
        Look(r"保留 (\d+) 天", "days"),
        Look(r"listens on port (\d{4})", "port"),
        Look(r"first locker of the roll-out is (K-\d\d)", "locker"),
        Look(r"(\w+) is on call this week", "person"),
    )
    return Turn(
        prompt,
        (
            step("From what I know.", write("CHANGELOG.md", _NOTES), looks=looks),
            step("As it stands, and all checks.", read("CHANGELOG.md"), bash("./check", "^230 passed$")),
            *commit("Write down what changed", git=git),
            step(
                "CHANGELOG.md is written: three bugs, one report, the retention, the roll-out. «person» is named.",
                looks=looks[-1:],
            ),
        ),
    )
