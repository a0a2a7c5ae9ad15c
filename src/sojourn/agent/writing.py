"""Who writes this session's checkpoints (K-3, K-4)."""

import asyncio
from collections.abc import Mapping

from sojourn.agent.pricing import Pricing
from sojourn.checkpoint import ExtractiveWriter, ModelWriter, Writer
from sojourn.config import Settings
from sojourn.models.types import Choice
from sojourn.record import Store
from sojourn.wire import Model


async def connected(choice: Choice, environ: Mapping[str, str], settings: Settings, store: Store) -> Model:
    """The model of a choice. Raises UserMistake for what a person can mend: no key, an unknown name."""
    from sojourn.models.choice import resolve  # here: a host that brings its model needs no catalogue
    from sojourn.models.connect import connect

    target = await asyncio.to_thread(resolve, choice, environ, settings)
    return connect(target, store.blob, silence=settings.model.timeout)


def writer_by(model: Model, *, forks: bool) -> Writer:
    """A model's writer; ``forks``: it is the session's own, asked in the live request.

    The embedded model follows a script and has no words for a checkpoint: there extraction writes.
    """
    if model.traits.provider == "sojourn":
        return ExtractiveWriter()
    return ModelWriter(model, price=Pricing(model.traits).loaded, forks=forks)
