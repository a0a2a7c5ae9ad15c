"""A folder that nobody trusts does not choose which model reads the record (Y-6)."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from sojourn.agent import trust
from sojourn.agent import upkeep as upkeeping
from sojourn.base import SystemClock
from sojourn.config import Settings, folders, load
from sojourn.record import Session
from sojourn.record.sqlite import SqliteStore
from sojourn.surfaces.cli.keeping_up import kept_up


@pytest.mark.design("Y-6", "K-4")
@pytest.mark.parametrize("trusted", [False, True])
def test_the_projects_file_names_the_writers_model_only_where_it_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trusted: bool
) -> None:
    monkeypatch.setenv("SOJOURN_HOME", str(tmp_path / "home"))
    folder = tmp_path / "work"
    (folder / ".sojourn").mkdir(parents=True)
    (folder / ".sojourn" / "config.toml").write_text(
        '[checkpoint]\nmodel = "evil/reader"\n[model.servers]\nevil = "http://127.0.0.1:9/v1"\n'
    )
    monkeypatch.chdir(folder)
    if trusted:
        trust.trust(folder, folders(os.environ).config)
    asked: list[Settings] = []
    opened = upkeeping.open_for_upkeep

    def watched(store: Any, session_id: str, settings: Settings, **rest: Any) -> Any:
        asked.append(settings)
        return opened(store, session_id, settings, **rest)

    monkeypatch.setattr(upkeeping, "open_for_upkeep", watched)

    async def main() -> None:
        store = await SqliteStore.open(None, clock=SystemClock())
        session = await store.create(Session(id="ses_1"))
        loaded = load(project=folder, overrides=(), environ=os.environ)
        assert loaded.settings.checkpoint.model == "evil/reader"
        async with kept_up(store, session, loaded, (), None):
            pass
        await store.close()

    asyncio.run(main())
    assert asked[0].checkpoint.model == ("evil/reader" if trusted else None)
    assert bool(asked[0].model.servers) is trusted
