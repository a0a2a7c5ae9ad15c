"""The page that people read may be edited like the one that is made for it (R-6)."""

import pytest

from sojourn.base import Item, Section
from sojourn.checkpoint import edited, render_checkpoint
from sojourn.checkpoint.operations import Replace
from sojourn.record import Checkpoint

ITEMS = (
    Item(id="di-00000001", section=Section.DIRECTIVES, text="Never push.", sources=(3, 9), written_seq=12),
    Item(id="kn-00000002", section=Section.KNOWLEDGE, text="The port is 42 (m1; fixed)", sources=(4,), written_seq=12),
)
ROW = Checkpoint(id="ckp_1", covered_seq=12, items=ITEMS, items_sha="x", writer="model", range=(0, 12))


def page(text: str) -> str:
    return text.replace("(m3, m9)", "(m3, m9; extraction)")


@pytest.mark.design("R-6")
def test_who_wrote_an_item_is_no_part_of_it() -> None:
    shown = page(render_checkpoint(ROW))
    assert "Never push. (m3, m9; extraction)" in shown
    assert edited(ROW, shown) == ()
    changed = edited(ROW, shown.replace("Never push.", "Never force-push."))
    assert changed == (Replace("di-00000001", "Never force-push.", (3, 9), None),)
