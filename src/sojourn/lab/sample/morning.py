"""The morning: KV-17 runs ahead, the store locks, a gap breaks the packing, predictions are slow, the gateway bans us."""

from sojourn.lab.sample.day import Day
from sojourn.lab.sample.output import check, log, profile, readings, residuals, suite

_LOCKED = """Traceback (most recent call last):
  File "src/tidewatch/ingest.py", line 88, in publish_reading
    self.store.put_reading(reading, reason="publish")
  File "src/tidewatch/store.py", line 61, in put_reading
    rows.execute(INSERT_READING, packed)
sqlite3.OperationalError: database is locked (writer pid 4417)"""

_NAN = """____________________ test_pack_reading_with_gap[KV-17] ____________________

    def test_pack_reading_with_gap(station):
        rows = load_fixture("kv17_spring_2026.csv")
>       packed = [pack_reading(row) for row in rows]

tests/test_store.py:142:
src/tidewatch/store.py:97: ValueError
E       ValueError: cannot convert float NaN to integer in pack_reading"""

_NODAL_OLD = """        factor, shift = nodal_factor(one.name, year)"""
_NODAL_NEW = """        factor, shift = NODAL_TABLE[int(year)][one.name]"""


def morning(day: Day) -> None:
    _one_hour_off(day)
    _locked_store(day)
    _gap_in_readings(day)
    _slow_predictions(day)
    _two_languages(day)
    _gateway_bans(day)


def _one_hour_off(day: Day) -> None:
    day.user(
        "Morning! Some rules for today before we begin. Never edit anything under db/migrations, the schema "
        "belongs to another team. "
        "Run `make check` before every commit. Store every time in UTC and convert only in render_local(). "
        "No new dependencies without asking me first. The staging service listens on port 8437. "
        "A residual above 0.18 m counts as wrong.\n\n"
        "First thing: since the autumn the predictions for KV-17 come about an hour early, and the heights look low too. "
        "Please find out why and fix it."
    )
    day.fact("rule_migrations", "rule", "Never edit anything under db/migrations")
    day.fact("rule_check", "rule", "Run `make check` before every commit")
    day.fact("rule_utc", "rule", "Store every time in UTC and convert only in render_local()")
    day.fact("rule_dependencies", "rule", "No new dependencies without asking me first")
    day.fact("staging_port", "value", "port 8437")
    day.fact("tolerance", "value", "0.18 m")
    day.look("I start with the project itself and how it is checked.", "README.md", "Makefile")
    day.look("The prediction is a sum of constituents; I read it before I look at the data.", "src/tidewatch/harmonics.py")
    day.run(
        "How far off is it, and is it only this gauge?",
        "python -m tidewatch.report --residuals --days 11",
        residuals("before", 11, 0.27),
    )
    day.step(
        "Only KV-17, in time and in height. So it is its configuration, not the formula.", day.read("config/stations.yaml")
    )
    day.fact("kv17_moved", "finding", "KV-17 was moved 40 m east on 2025-11-03; its datum offset is +0.273 m since then")
    day.look(
        "Two things stand out: its epoch carries +01:00 while the others are Z, and the comment names an offset "
        "that the value below "
        "it does not have. I check how the epoch is read.",
        "src/tidewatch/stations.py",
    )
    day.look("And what the calendar makes of it.", "src/tidewatch/calendar.py")
    day.step("Is there any other place that takes an epoch?", day.grep("epoch"), day.grep("datum_offset"))
    day.look("Settings read the file once; nothing there shifts a time.", "src/tidewatch/settings.py")
    day.run(
        "What did last night's refresh say about this gauge?",
        "grep -v DEBUG var/log/tidewatch.log | tail -90",
        log("night", 90),
    )
    day.run("The tests as they are, before I change anything.", "pytest -v tests", suite("start", 84))
    day.step(
        "The epoch first: in UTC like its neighbours.",
        day.edit(
            "config/stations.yaml",
            "epoch: 2024-01-01T00:00:00+01:00",
            "epoch: 2024-01-01T00:00:00Z",
        ),
    )
    day.step(
        "Then the offset since the move.",
        day.edit("config/stations.yaml", "datum_offset: 0.091", "datum_offset: 0.273"),
    )
    day.run(
        "The residuals again.",
        "python -m tidewatch.report --residuals --days 11",
        residuals("after", 11, 0.02),
    )
    day.step(
        "Both are gone. A test that refuses an epoch which is not UTC, so that it cannot come back.",
        day.write(
            "tests/test_stations_epoch.py",
            "import pytest\n\nfrom tidewatch.stations import StationsError, load_stations\n\n\n"
            "def test_an_epoch_must_be_utc(tmp_path):\n"
            '    path = tmp_path / "stations.yaml"\n'
            '    path.write_text("stations: {KV-17: {epoch: 2024-01-01T00:00:00+01:00}}")\n'
            '    with pytest.raises(StationsError, match="epoch must be UTC"):\n'
            "        load_stations(path)\n",
        ),
    )
    day.run(
        "It should fail now, because nothing refuses it yet.",
        "pytest -v tests/test_stations_epoch.py",
        suite("epoch", 3, "tests/test_stations_epoch.py:9: Failed: DID NOT RAISE <class 'StationsError'>"),
        error=True,
    )
    day.step("Where would the check stand?", day.grep("class StationsError"), day.read("src/tidewatch/units.py", 1, 60))
    day.step(
        "In the module that owns the row.",
        day.edit(
            "src/tidewatch/stations.py",
            "        self.misses = 0\n",
            '        self.misses = 0\n\n    def check_epoch(self, text: str) -> None:\n        if not text.endswith("Z"):\n'
            '            raise StationsError(f"epoch must be UTC, got {text}")\n',
        ),
    )
    day.step("", day.status())
    day.run("All checks before the commit, as you asked.", "make check", check("first", 85))
    day.step("", day.diff("config/stations.yaml", "src/tidewatch/stations.py"))
    day.step("Clean. I commit.", day.commit("KV-17: epoch in UTC, datum offset since the move", "9c41e7b2"))
    day.fact("first_commit", "hash", "9c41e7b2")
    day.done(
        "KV-17 was wrong twice. Its epoch was given in local time (+01:00), which brought every prediction one "
        "hour early, and its datum "
        "offset was still the one from before it was moved. Both are corrected, an epoch that is not UTC is "
        "refused from now on, and "
        "the residuals of the last 11 days are inside your limit."
    )


def _locked_store(day: Day) -> None:
    day.user("Great. Next: ingest stopped at 03:12 last night and came back only after a restart. Can you see what happened?")
    day.run(
        "The log around that time.",
        "sed -n '/T03:0/,/T03:2/p' var/log/tidewatch.log",
        log("locked", 110, at_end=_LOCKED),
        error=True,
    )
    day.fact("locked", "error", "sqlite3.OperationalError: database is locked (writer pid 4417)")
    day.look("A second writer. I read both ends of it.", "src/tidewatch/store.py")
    day.fact("store_units", "finding", "heights are stored as whole millimetres; rows before batch 20931 are centimetres")
    day.look("", "src/tidewatch/ingest.py")
    day.run("Who was process 4417?", "journalctl -o short --since 03:00 --until 03:20 | grep 4417", log("journal", 24))
    day.look("The backfill: it holds one transaction over a whole harbour.", "src/tidewatch/backfill.py")
    day.step("How do others wait for the lock?", day.grep("BUSY_TIMEOUT"), day.grep("busy_timeout", "config"))
    day.look("And when does the schedule start the two?", "src/tidewatch/schedule.py")
    day.run(
        "How long does one backfill transaction take?",
        "python -m tidewatch.backfill --dry-run --profile",
        profile("backfill", "       12    3.912 0.326000    6.871  src/tidewatch/backfill.py:71(put_batch)"),
    )
    day.done(
        "Ingest and the backfill wrote at the same time: the backfill keeps its transaction open for up to 6.9 "
        "s, ingest waits 0.5 s for "
        "the lock and then dies with `database is locked`. Two ways: (a) wait longer, (b) commit the backfill batch by batch. "
        "I would do both. Shall I?"
    )
    day.user("Yes, both. And keep the waiting time in one place, please.")
    day.step(
        "Waiting first: longer than the longest transaction seen.",
        day.edit(
            "src/tidewatch/store.py",
            "BUSY_TIMEOUT = 500",
            "BUSY_TIMEOUT = 7500  # milliseconds; longest transaction seen: 6.9 s",
        ),
    )
    day.fact("busy_timeout", "fix", "BUSY_TIMEOUT = 7500")
    day.step(
        "The configuration said 500 as well; one place now, so the two files lose theirs.",
        day.edit("config/staging.yaml", "  busy_timeout: 500\n", ""),
        day.edit("config/production.yaml", "  busy_timeout: 500\n", ""),
    )
    day.step("Now the backfill: where does it open its transaction?", day.grep("transaction", "src/tidewatch/backfill.py"))
    day.step(
        "A commit after every batch, and a pause in which ingest can write.",
        day.edit(
            "src/tidewatch/backfill.py",
            "        self.misses = 0\n",
            "        self.misses = 0\n\n    def run(self, batches: Iterable[BackfillRow], pause: float = 0.05) -> int:\n"
            '        """One transaction a batch; gives the lock away between two."""\n        done = 0\n        '
            "for batch in batches:\n"
            "            with self.store.transaction() as rows:\n                rows.put_batch(batch)\n            done += 1\n"
            "            self.clock.sleep(pause)\n        return done\n",
        ),
    )
    day.run("Both at once, for a minute, on a copy.", "python -m tests.soak --writers 2 --seconds 60", log("soak", 70))
    day.step("", day.status())
    day.run("No lock error in it. All checks.", "make check", check("second", 88))
    day.step("", day.diff("src/tidewatch/backfill.py", "src/tidewatch/store.py", "config/staging.yaml"))
    day.step("", day.commit("store: wait for the lock, backfill commits a batch at a time", "e07b53ad"))
    day.done("Done: ingest waits up to 7.5 s and the backfill no longer holds the lock for more than one batch.")


def _gap_in_readings(day: Day) -> None:
    day.user("The nightly test run is red since yesterday, something in packing. Have a look?")
    day.run("I run it here.", "pytest -v tests/test_store.py tests/test_ingest.py", suite("pack", 61, _NAN), error=True)
    day.fact("nan", "error", "ValueError: cannot convert float NaN to integer in pack_reading")
    day.step("The fixture it reads:", day.bash("head -150 tests/fixtures/kv17_spring_2026.csv", readings("fixture", 150)))
    day.fact("fixture", "path", "tests/fixtures/kv17_spring_2026.csv")
    day.look("Marks on readings are set before packing; I read how.", "src/tidewatch/quality.py")
    day.step("Who packs, and who drops gaps?", day.grep("pack_"), day.grep("gap"))
    day.step("The store again, at the packing.", day.read("src/tidewatch/store.py", 60, 60))
    day.run(
        "Since when is there a gap in this file?",
        "git log --oneline -12 -- tests/fixtures",
        "\n".join(
            f"{sha} {title}"
            for sha, title in [
                ("5d0f9a11", "fixtures: spring tide of KV-17, with the outage of the 9th"),
                ("b81c2e40", "fixtures: shorter headers"),
                ("77aa03f5", "fixtures: SB-02 inner basin"),
                ("1c9e6b38", "fixtures: first batch in millimetres"),
            ]
        ),
    )
    day.done(
        "The new fixture holds an outage, and a gap reaches `pack_reading` as NaN. Gaps must be dropped before "
        "packing: a height of 0 "
        "in their place would read as a very low tide. I would call drop_gaps() before pack_reading() in ingest, "
        "not inside of it."
    )
    day.fact("drop_gaps", "fix", "call drop_gaps() before pack_reading() in ingest")
    day.user("Agreed, in ingest.")
    day.step(
        "",
        day.edit(
            "src/tidewatch/ingest.py",
            "        self.misses = 0\n",
            "        self.misses = 0\n\n    def drop_gaps(self, rows: Iterable[IngestRow]) -> list[IngestRow]:\n"
            '        """Without the rows that the gauge did not measure."""\n        return [row for row in rows '
            "if row.taken_at == row.taken_at]\n",
        ),
    )
    day.run("", "pytest -v tests/test_store.py tests/test_ingest.py", suite("packed", 62))
    day.look("The report also reads raw rows; does it need the same?", "src/tidewatch/report.py")
    day.step("", day.status())
    day.run("No: it takes means, and those skip gaps. All checks.", "make check", check("third", 90))
    day.step("", day.commit("ingest: gaps are dropped before packing", "2f68d0c4"))
    day.done("Green again, 90 tests. The report was not affected.")


def _slow_predictions(day: Day) -> None:
    day.user(
        "Predictions for 48 hours take 1.9 s on staging, and the page asks for six gauges at once. Can we get under 300 ms?"
    )
    day.run(
        "Measured first.",
        "python -m cProfile -s tottime -m tidewatch.api --once predictions",
        profile("predict", "   414720    5.104 0.000012    6.220  src/tidewatch/harmonics.py:28(nodal_factor)"),
    )
    day.look("How the page asks, and what is kept between two requests:", "src/tidewatch/api.py")
    day.step("", day.grep("predict("), day.grep("nodal_factor"))
    day.step(
        "61% of the time is nodal_factor, which changes over 18.6 years and is computed 414,720 times a page. I keep the nodal "
        "corrections in a table per year, not computed per request: the values differ by less than 0.1 mm over a "
        "month, and a cache of "
        "whole predictions would have to be thrown away at every new reading.",
        day.read("src/tidewatch/harmonics.py", 20, 40),
    )
    day.fact("nodal_table", "decision", "I keep the nodal corrections in a table per year, not computed per request")
    day.step(
        "",
        day.edit("src/tidewatch/harmonics.py", _NODAL_OLD, _NODAL_NEW),
        day.edit(
            "src/tidewatch/harmonics.py",
            "def predict(station",
            "NODAL_TABLE = {year: {name: nodal_factor(name, year + 0.5) for name in SPEEDS} for year in "
            "range(1990, 2061)}\n\n\ndef predict(station",
        ),
    )
    day.run(
        "The same again.",
        "python -m cProfile -s tottime -m tidewatch.api --once predictions",
        profile("faster", "    46080    0.101 0.000002    0.188  src/tidewatch/harmonics.py:44(predict)"),
    )
    day.run("And are the heights the same?", "python -m tidewatch.report --residuals --days 11", residuals("nodal", 11, 0.02))
    day.look(
        "Clearances use the same prediction at a finer step; I look whether they ask for years outside of the table.",
        "src/tidewatch/clearance.py",
    )
    day.step("", day.status())
    day.run("1990 to 2060 is enough. All checks.", "make check", check("fourth", 91))
    day.step("", day.commit("harmonics: nodal corrections from a table", "c3d91f06"))
    day.done("188 ms for the page with six gauges, from 6.2 s of computing; heights agree to a tenth of a millimetre.")


def _two_languages(day: Day) -> None:
    day.user(
        "顺便说两条长期规则：所有给值班员看的告警文字必须同时有中文和英文，缺一种就不要发出去。"
        "任何阈值改动要先写进 docs/thresholds.md，再改代码。现在先看看告警文字都是在哪里生成的，下午再动手。"
    )
    day.fact("two_languages", "rule", "所有给值班员看的告警文字必须同时有中文和英文")
    day.fact("thresholds_first", "rule", "任何阈值改动要先写进 docs/thresholds.md")
    day.look("先读告警模块。", "src/tidewatch/alerts.py")
    day.look("文字最后由 render 拼出来。", "src/tidewatch/render.py")
    day.step("还有别处直接拼文字吗？", day.grep("text = f"), day.grep("languages", "config"))
    day.look("", "docs/thresholds.md")
    day.look("值班表和告警是分开的，也看一眼。", "src/tidewatch/schedule.py")
    day.run("昨天发出去的告警长什么样？", "grep -h alerts var/log/tidewatch.log | tail -60", log("alerts", 60))
    day.done(
        "告警文字有两个来源：`alerts.py` 拼出内容，`render.py` 负责语言和当地时间；"
        "`report.py` 里另有一处直接拼接，不发给值班员。"
        "目前配置里只有英文（languages: [en]）。下午我会让两种语言一起生成，缺一种时拒绝发送并记入日志。"
    )


def _gateway_bans(day: Day) -> None:
    day.user(
        "One correction before lunch: staging has moved, it listens on port 8461 now, the old one is gone. "
        "And the gauge gateway seems to throw us out now and then, about ten minutes without any reading. Why?"
    )
    day.void("staging_port")
    day.fact("staging_port_new", "value", "port 8461")
    day.step(
        "The port first.",
        day.edit("config/staging.yaml", "port: 8437", "port: 8461"),
    )
    day.look("What the gateway promises:", "docs/gateway.md")
    day.fact("gateway_limit", "finding", "The gateway answers 429 after 240 requests a minute per key")
    day.look("And what our client does.", "src/tidewatch/gateway.py")
    day.run("Its requests around the last silence.", "grep gateway var/log/tidewatch.log | tail -120", log("gateway", 120))
    day.step("", day.grep("reconnect", "config"), day.grep("retry"))
    day.run(
        "How many a minute do we send at the worst?", "python -m tools.rate var/log/tidewatch.log", residuals("rate", 6, 0.0)
    )
    day.step(
        "We stay under the limit, but after a dropped line we come back within 5 seconds, and that is what it "
        "bans. I retry with a random "
        "wait between 31 and 45 seconds, because the gateway bans a client that reconnects within 30, and a "
        "fixed wait would bring all "
        "six gauges back in the same second.",
        day.edit("config/staging.yaml", "reconnect_seconds: 5", "reconnect_seconds: [31, 45]"),
        day.edit("config/production.yaml", "reconnect_seconds: 5", "reconnect_seconds: [31, 45]"),
    )
    day.fact("retry_wait", "decision", "I retry with a random wait between 31 and 45 seconds")
    day.step(
        "",
        day.edit(
            "src/tidewatch/gateway.py",
            "        self.misses = 0\n",
            "        self.misses = 0\n\n    def reconnect_wait(self) -> float:\n"
            '        """Seconds; never under 31: the gateway bans whoever comes back within 30."""\n'
            "        low, high = self.settings.reconnect_seconds\n        return max(31.0, self.random.uniform(low, high))\n",
        ),
    )
    day.run("", "pytest -v tests/test_gateway.py", suite("gateway", 19))
    day.look("The cleaning of old keys is in settings; does anything else read the wait?", "src/tidewatch/surge.py")
    day.step("", day.status())
    day.run("Nothing does. All checks.", "make check", check("fifth", 93))
    day.step("", day.commit("gateway: wait 31 to 45 s before coming back; staging port", "a94e2b70"))
    day.done("It was the quick reconnect. After a dropped line we now wait 31 to 45 seconds. The staging port is changed too.")
