"""A rule is taken back by what the user says after it, not by the message that made it (K-6)."""

import pytest

from checkpoint.asked import item
from checkpoint.telling import run_of, says, user
from sojourn.base import Section, open_items
from sojourn.checkpoint.applying import apply
from sojourn.checkpoint.operations import parse


@pytest.mark.design("K-6", "K-12")
@pytest.mark.report(90)
@pytest.mark.parametrize("operation", ["x {id}", "= {id} directives: push when you like"])
@pytest.mark.parametrize(("source", "taken_back"), [(1, True), (2, False), (3, False)])
def test_only_words_of_the_user_that_came_after_a_rule_take_it_back(operation: str, source: int, taken_back: bool) -> None:
    rule = item("never push to main", section=Section.DIRECTIVES, sources=(source,))
    run = run_of(says("I go on."), user("push when you like"), items=(rule,))
    done = apply(parse(operation.format(id=rule.id)), run)
    assert (rule.id not in {one.id for one in open_items(done.written.items)}) is taken_back
    assert done.valid == taken_back
