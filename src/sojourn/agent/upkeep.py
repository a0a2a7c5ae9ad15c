"""A session opened between its turns: to write a checkpoint or a summary, with the model that it ran on (C-13, K-11)."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from sojourn.agent.pricing import prices_for
from sojourn.agent.state import standing
from sojourn.agent.writing import connected, writer_by
from sojourn.base import UserMistake
from sojourn.checkpoint import ExtractiveWriter
from sojourn.config import Settings
from sojourn.engine import Engine
from sojourn.engine.looking import last_traits
from sojourn.engine.types import OnEvent
from sojourn.memory import LocalMemory
from sojourn.models.types import Choice
from sojourn.record import Store
from sojourn.window import OpeningSection
from sojourn.wire import Model, Traits


class Upkeep(msgspec.Struct, frozen=True):
    engine: Engine
    why_no_model: str = ""
    """Why extraction writes instead of a model; empty = a model writes."""


@asynccontextmanager
async def open_for_upkeep(
    store: Store,
    session_id: str,
    settings: Settings,
    *,
    documents: Path | None = None,
    environ: Mapping[str, str] = os.environ,
    on_event: OnEvent | None = None,
) -> AsyncIterator[Upkeep]:
    """The session's engine. ``checkpoint.model`` writes where it is set, else the session's own model, else extraction.

    Raises UserMistake where the session is not there or another process runs it.
    """
    session = await store.session(session_id)
    traits = await last_traits(store, session_id)

    async def gather() -> tuple[OpeningSection, ...]:
        now = await store.session(session_id)
        return await standing(store, now, now.mode, await store.newest_window(session_id)) if now else ()

    model, why = None, ""
    try:
        model = await _model(session.model if session else "", traits, settings, environ, store)
    except UserMistake as error:
        why = str(error)
    try:
        own = settings.checkpoint.model is None
        writer = writer_by(model, forks=own) if model else ExtractiveWriter()
        if model is not None and writer.name == "extractive":
            why = f"{model.traits.name} follows a script"
        engine = await Engine.open(
            store=store,
            session_id=session_id,
            traits=traits or (model.traits if model else None),
            settings=settings,
            writer=writer,
            documents=documents,
            memory=LocalMemory(documents) if documents is not None else None,
            gather_sections=gather,
            prices=await prices_for(model.traits, settings) if model is not None and own else None,
            on_event=on_event,
        )
        try:
            yield Upkeep(engine, why)
        finally:
            await engine.close()
    finally:
        if model is not None:
            await model.close()


async def _model(label: str, traits: Traits | None, settings: Settings, environ: Mapping[str, str], store: Store) -> Model:
    """Raises UserMistake where it cannot be reached again: no key, an endpoint that was named for one run only."""
    if settings.checkpoint.model is None and not label:
        raise UserMistake("the session has no model")
    limit = traits.limit if traits is not None else None
    return await connected(Choice(settings.checkpoint.model or label, limit=limit), environ, settings, store)
