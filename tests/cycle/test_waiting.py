"""Below the full trigger a view waits for the checkpoint that is being written, and for nothing else (C-18)."""

import msgspec
import pytest

from sojourn.config import Settings
from sojourn.cycle import Situation, decide, draw_lines

FULL = draw_lines(200_000, output_cap=None, settings=Settings())
LINES = msgspec.structs.replace(FULL, trigger=FULL.full_trigger // 2)


@pytest.mark.design("C-8", "C-18")
@pytest.mark.parametrize(
    ("level", "running", "usable", "then"),
    [
        (LINES.trigger - 1, True, False, "send"),
        (LINES.trigger, True, False, "send"),
        (LINES.trigger, True, True, "open"),
        (LINES.trigger, False, False, "open"),
        (FULL.full_trigger - 1, True, False, "send"),
        (FULL.full_trigger - 1, True, True, "open"),
        (FULL.full_trigger, True, False, "open"),
    ],
)
def test_an_economic_trigger_waits_for_a_running_writer_only_where_no_checkpoint_lies_ready(
    level: int, running: bool, usable: bool, then: str
) -> None:
    got = decide(Situation(level=level, lines=LINES, consumed=LINES.tiers, writer_running=running, usable_checkpoint=usable))
    assert got.then == then
