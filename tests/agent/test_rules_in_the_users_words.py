"""A rule of the project is what the user said, word for word, whatever a writer makes of it (K-12, report 90)."""

import asyncio
from pathlib import Path

import pytest

from agent.minding import Both, document, fill, minded
from agent.talking import room, say
from sojourn.checkpoint import said_as
from sojourn.record import Checkpoint


@pytest.mark.design("K-12")
@pytest.mark.report(90)
@pytest.mark.parametrize(
    ("spoken", "proposed", "kept"),
    [
        (
            "Never commit to the main branch without a review.",
            "Always commit to the main branch without a review",
            "Never commit to the main branch without a review.",
        ),
        (
            "Look at the tables first. Run the tests after each change, then deploy to staging. Thanks.",
            "Deploy to staging after each change, run no tests",
            "Run the tests after each change, then deploy to staging.",
        ),
        ("提交信息必须用英文。", "提交信息不必用英文", "提交信息必须用英文"),
        ("Please tidy the folder.", "Always commit to the main branch without a review", ""),
    ],
)
def test_what_a_writer_turns_round_is_kept_as_the_user_said_it(spoken: str, proposed: str, kept: str, tmp_path: Path) -> None:
    async def main() -> None:
        where = await room(tmp_path)
        model = Both(say("Ready."))
        agent = await minded(where, model)
        await agent.turn(spoken)
        seq = next(message.seq for message in agent.engine.in_view if message.origin == "user")
        await fill(agent)
        model.writes = [f"^ directives [m{seq}]: {proposed}\n"]
        assert isinstance(await agent.engine.write_checkpoint(), Checkpoint)
        memory = document(where, "project", agent.engine.session.project_id, "MEMORY")
        text = memory.read_text() if memory.exists() else ""
        assert proposed not in text
        assert (kept in text) if kept else (text == "")
        await agent.close(wait=0)
        await where.store.close()

    asyncio.run(main())


@pytest.mark.design("K-12")
def test_the_sentence_that_says_it_is_the_one_with_most_of_its_words() -> None:
    speech = "The gauge of Dunmore is old. Read it at minute 17. Never at night."
    assert said_as("read the gauge at minute 17", speech) == "Read it at minute 17."
    assert (
        said_as("the old gauge of Dunmore is read at minute 17", speech) == "The gauge of Dunmore is old. Read it at minute 17."
    )
    assert said_as("stations close at noon", speech) == ""
    assert said_as("", speech) == said_as("read the gauge", "") == ""
    assert said_as("alpha bravo charlie delta echo", "Alpha bravo charlie.") == "Alpha bravo charlie.", "three in five"
    assert said_as("alpha bravo charlie delta echo foxtrot", "Alpha bravo charlie.") == ""
