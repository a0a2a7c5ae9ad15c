"""A session opened for work that a person asked for between its turns: a checkpoint, a compaction (C-13, K-11)."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from sojourn.config import Loaded, load
from sojourn.record import Session, Store
from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.columns import wrapped
from sojourn.surfaces.cli.options import data_folders, documents, hint, tell_event, window_size
from sojourn.surfaces.cli.render import width

if TYPE_CHECKING:
    from sojourn.engine import Engine


@asynccontextmanager
async def kept_up(
    store: Store, session: Session, loaded: Loaded, overrides: tuple[str, ...], window: str | None
) -> AsyncIterator["Engine"]:
    """Its engine, with the model that writes for it; where none can be reached, extraction writes, and that is said.

    The record leaves for a model here: a folder that nobody trusts has no say in which (Y-6).
    """
    from sojourn.agent import trust
    from sojourn.agent.upkeep import open_for_upkeep

    own = load(project=None, overrides=overrides, environ=os.environ)
    trusted = trust.answered(Path.cwd(), data_folders().config) is True
    settings = trust.settings_here(loaded, own, trusted=trusted)
    limit = window_size(window) if window is not None else None
    async with open_for_upkeep(
        store, session.id, settings, documents=documents(), environ=os.environ, on_event=tell_event
    ) as upkeep:
        if upkeep.why_no_model:
            hint(wrapped(say("no_model_writes", reason=upkeep.why_no_model), width()))
        if limit is not None:
            traits = msgspec.structs.replace(upkeep.engine.traits, limit=limit, limit_source="command line")
            await upkeep.engine.set_model(traits)
        yield upkeep.engine
