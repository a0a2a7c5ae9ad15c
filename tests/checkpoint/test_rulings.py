"""Rules, facts and corrections of the user in any wording, in two languages, among other talk."""

import msgspec
import pytest

from checkpoint.telling import found, reads, run_of, says, texts, user
from sojourn.base import Section
from sojourn.checkpoint.extract import extract, sure
from sojourn.checkpoint.extract.rulings import ADVICE, FACT, RULE, ruling

pytestmark = pytest.mark.design("K-10")

RULES = [
    "Remember: tickets are quoted as KLM-4471 in each commit.",
    "From now on the base branch is release-2031.4.",
    "We agreed that nightly runs listen on port 41877.",
    "Only j.doe-77@corp.example signs these off.",
    "Our salt has got to be SALT-91cc.",
    "The customer insists on bucket eu-west-4a.",
    "Put every dump under /srv/dumps/q-19.",
    "Please quote KLM-4471 wherever you commit.",
    "Hands off vendor/acme-3.2.1!",
    "Keep to at most 88 columns.",
    "Treat 2031-03-14 as the cut-off.",
    "以后清单都放到 deploy/kite/rollout-3391.yaml。",
    "我们商量好了，盐值必须用 SALT-91cc。",
    "截止时间定在 2031-03-14。",
    "评审人固定为 j.doe-77@corp.example。",
    "环境变量前缀统一成 QZ7-A。",
]
FACTS = [
    "All artefacts land in build/out-7f3a/site.tar.",
    "I'd like the header to read X-Trace-Id-44b.",
    "Invoices carry the prefix INV-77Q.",
    "Just so you know, prod talks to db-7.eu.internal:5433.",
    "When in doubt, golden-5512.parquet is the reference.",
    "Reviewer: j.doe-77@corp.example",
    "Staging lives on 57546.",
    "Use 37 workers.",
    "Our convention here: names begin with a Q.",
    "新代码藏在开关 ff_kite_91ab 后面。",
    "顺便说一句，桶名叫 eu-west-4a。",
    "随机种子保持 90210。",
]
CORRECTIONS = [
    "Hold on, it's actually port 51234.",
    "Sorry, I mixed up the tickets: it's KLM-9020.",
    "On second thought, go with the second one.",
    "The flag got renamed to ff_kite_77zz.",
    "Ignore the earlier port; staging sits on 51234.",
    "My mistake: the reviewer is p.roe-12@corp.example.",
    "KLM-4471 no longer applies, KLM-9020 does.",
    "The deadline moved to 2031-04-02, we changed it for legal.",
    "What I told you about the bucket was outdated: eu-north-2b, I had it wrong.",
    "Let me see, no, the first of them.",
    "盐值改成 SALT-18dd 了，旧的不要再用。",
    "之前说的端口不对，应该是 51234。",
    "我记错了，是另一个。",
    "开关换成 ff_kite_77zz，原来的作废。",
    "前面那个桶名不算，以 eu-north-2b 为准。",
    "评审换成 r.fox-9@corp.example 了。",
]
OTHER = [
    "Please look into the prairie and alpha modules and tidy them up.",
    "harbor inlet jolt kernel lattice meadow nickel orbit pivot 512",
    "Can you read src/a_1.py again?",
    "Is the salt SALT-91cc?",
    "Is it KLM-4471",
    "Do we use KLM-4471",
    "Why is it SALT-91cc",
    "I get a KeyError in row 12 of x-77.",
    "There are 512 rows in it.",
    "Thanks, that works.",
    "Run the first 200 tests of it.",
    "看看 src/a_1.py 里的循环。",
    "端口是 41877 吗",
    "2031-02-09 09:07:20.570 the session is KX-71",
    "Read it in full and go on.",
]


@pytest.mark.parametrize("sentence", RULES)
def test_a_value_with_a_modal_an_order_or_an_agreement_is_a_rule(sentence: str) -> None:
    assert ruling(sentence) == RULE


@pytest.mark.parametrize("sentence", FACTS)
def test_a_statement_that_gives_a_value_is_a_fact(sentence: str) -> None:
    assert ruling(sentence) == FACT


@pytest.mark.parametrize("sentence", CORRECTIONS)
def test_what_says_that_something_does_not_hold_is_a_correction(sentence: str) -> None:
    assert ruling(sentence) == RULE


@pytest.mark.parametrize("sentence", OTHER)
def test_requests_reports_questions_and_pasted_lines_lay_nothing_down(sentence: str) -> None:
    assert ruling(sentence) == 0.0


@pytest.mark.parametrize(
    "sentence",
    ["The olive owner should prefer ref-85a2083.", "You might want ref-85a2083 here.", "最好用 ref-85a2083 的版本。"],
)
def test_advice_weighs_less(sentence: str) -> None:
    assert ruling(sentence) == ADVICE


def test_how_much_each_weighs() -> None:
    assert (RULE, FACT, ADVICE) == (4.0, 3.0, 2.0)
    assert (ruling("说错了"), ruling("说错了。")) == (0.0, RULE)


@pytest.mark.parametrize(("length", "weight"), [(400, RULE), (401, 0.0)])
def test_a_longer_sentence_is_pasted_text(length: int, weight: float) -> None:
    assert ruling(("It must be KX-71 " + "and so on " * 60)[:length]) == weight


@pytest.mark.parametrize(("length", "weight"), [(140, FACT), (141, 0.0)])
def test_a_bare_number_counts_in_a_short_statement_only(length: int, weight: float) -> None:
    assert ruling(("Staging lives on 57546 " + "so it goes " * 20)[:length]) == weight


@pytest.mark.report(14)
@pytest.mark.parametrize("sentence", [*RULES, *FACTS, *CORRECTIONS])
def test_in_the_middle_of_a_long_message_it_is_found_by_the_check_and_under_an_economic_policy(sentence: str) -> None:
    pad = "\n".join(f"- harbor inlet jolt kernel lattice meadow nickel orbit {i}" for i in range(160))
    run = run_of(user(f"Tidy the beam module.\n{pad}\n{sentence}\n{pad}\nThat is all."), reads("a.py", "x"), says("Done."))
    assert texts(sure(run), Section.DIRECTIVES) == [sentence]
    assert texts(extract(msgspec.structs.replace(run, economic=True)), Section.DIRECTIVES) == [sentence]


def test_without_an_economic_policy_only_the_known_forms_count() -> None:
    assert texts(found(user("Invoices carry the prefix INV-77Q."), says("ok")), Section.DIRECTIVES) == []


def test_a_correction_stands_beside_what_it_corrects() -> None:
    first, between, second = "Our salt is SALT-91cc.", "Staging lives on 57546.", "I had the salt wrong, it is SALT-18dd."
    run = run_of(user(first), says("ok"), user(between), says("ok"), user(second), says("ok"))
    assert texts(sure(run), Section.DIRECTIVES) == [first, second, between]
