"""What a folder that nobody trusts can put before the model: text, never system text (M-R5, Y-6)."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from agent.talking import Told, agent_in, call, room, say
from sojourn.agent import Agent
from sojourn.agent.types import Returned
from sojourn.base import UserMistake
from sojourn.config import Folders, ModelSettings, Settings

pytestmark = pytest.mark.design("M-R5", "Y-6")

AUTHOR = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@a", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@a"}


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def planted(folder: Path) -> None:
    """A repository that says PLANTED wherever it can."""
    subprocess.run(["git", "init", "-q", "-b", "PLANTED-branch", folder], check=True)
    for style in ("x", "concise"):
        put(folder / ".sojourn" / "styles" / f"{style}.md", "PLANTED style")
    put(folder / ".sojourn" / "config.toml", 'output_style = "x"')
    put(folder / "AGENTS.md", "PLANTED rule")
    put(folder / ".agents" / "skills" / "trick" / "SKILL.md", "---\nname: trick\ndescription: PLANTED skill\n---\nbody")
    subprocess.run(["git", "-C", folder, "add", "."], check=True)
    commit = ["git", "-C", folder, "commit", "-q", "-m", "PLANTED commit"]
    subprocess.run(commit, check=True, env={**os.environ, **AUTHOR})
    put(folder / "PLANTED file", "")


@pytest.mark.parametrize("trusted", [False, True])
def test_what_the_folder_says_is_no_system_text_before_it_is_trusted(tmp_path: Path, trusted: bool) -> None:
    async def main() -> None:
        where = await room(tmp_path)
        planted(where.folder)
        model = Told(say("hi"))
        agent = await agent_in(where, model, trusted=trusted, settings=Settings(output_style="concise"))
        await agent.turn("go")
        system = "\n".join(block.text for block in model.requests[0].system)
        assert system.count("PLANTED") == (4 if trusted else 0), "branch, commit, file, style"
        assert ("PLANTED style" in model.text(0)) is trusted, "a style of the folder's does not hide a packaged one"
        for shown in ("PLANTED-branch", "PLANTED commit", "?? ", "PLANTED rule", "PLANTED skill"):
            assert shown in model.text(0), "the model may read it all the same"
        assert ("# Git" in system) is trusted
        assert "# Output style: concise" in system
        await agent.close()

    asyncio.run(main())


def test_a_style_of_the_folder_is_loaded_only_where_it_is_trusted(tmp_path: Path) -> None:
    async def main() -> None:
        where = await room(tmp_path)
        planted(where.folder)
        settings = Settings(output_style="x")
        with pytest.raises(UserMistake, match="there is no output style x") as mistake:
            await agent_in(where, Told(), trusted=False, settings=settings)
        assert mistake.value.next_step.endswith("The folder's own are left out: it is not trusted.")
        put(tmp_path / "home" / "config" / "styles" / "x.md", "The person's own.")
        for trusted, words in ((False, "The person's own."), (True, "PLANTED style")):
            model = Told(say("hi"))
            agent = await agent_in(where, model, trusted=trusted, settings=settings)
            await agent.turn("go")
            assert words in "".join(block.text for block in model.requests[0].system)
            await agent.close()

    asyncio.run(main())


def test_keys_of_configured_servers_are_not_told_to_commands(tmp_path: Path) -> None:
    async def main() -> None:
        where = await room(tmp_path)
        environ = {"PATH": os.environ["PATH"], "MY_LAB_API_KEY": "sk-1", "my_lab_api_key": "sk-2", "LAB_API_KEY": "kept"}
        environ["ANTHROPIC_API_KEY"] = "sk-3"
        settings = Settings(model=ModelSettings(servers={"my-lab": "http://127.0.0.1:1/v1"}))
        for given, shown in (
            (settings, {"LAB_API_KEY=kept"}),
            (Settings(), {"LAB_API_KEY=kept", "MY_LAB_API_KEY=sk-1", "my_lab_api_key=sk-2"}),
        ):
            where.events.clear()
            agent = await agent_in(where, Told(call("bash", command="env"), say("ok")), settings=given, environ=environ)
            await agent.turn("go")
            (result,) = where.of(Returned)
            assert {line for line in result.text.split("\n") if "_api_key=" in line.lower()} == shown
            await agent.close()

    asyncio.run(main())


def test_an_agent_trusts_nothing_unless_it_is_said(tmp_path: Path) -> None:
    async def main() -> None:
        where = await room(tmp_path)
        planted(where.folder)
        model = Told(say("hi"))
        base = tmp_path / "home"
        places = Folders(data=base / "data", config=base / "config", cache=base / "cache")
        agent = await Agent.open(store=where.store, cwd=where.folder, model=model, places=places, home=base)
        await agent.turn("go")
        assert "PLANTED" not in "".join(block.text for block in model.requests[0].system)
        await agent.close()

    asyncio.run(main())
