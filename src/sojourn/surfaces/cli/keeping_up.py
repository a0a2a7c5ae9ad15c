"""A session opened for work that a person asked for between its turns: a checkpoint, a compaction (C-13, K-11)."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import msgspec

from sojourn.config import Settings
from sojourn.record import Session, Store
from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.options import amount, documents, hint, tell_event

if TYPE_CHECKING:
    from sojourn.engine import Engine


@asynccontextmanager
async def kept_up(store: Store, session: Session, settings: Settings, window: str | None) -> AsyncIterator["Engine"]:
    """Its engine, with the model that writes for it; where none can be reached, extraction writes, and that is said."""
    from sojourn.agent.upkeep import open_for_upkeep

    limit = amount(window, "--window") if window is not None else None
    async with open_for_upkeep(
        store, session.id, settings, documents=documents(), environ=os.environ, on_event=tell_event
    ) as upkeep:
        if upkeep.why_no_model:
            hint(say("no_model_writes", reason=upkeep.why_no_model))
        if limit is not None:
            traits = msgspec.structs.replace(upkeep.engine.traits, limit=limit, limit_source="command line")
            await upkeep.engine.set_model(traits)
        yield upkeep.engine
