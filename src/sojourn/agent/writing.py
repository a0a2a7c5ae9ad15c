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


async def writer_for(model: Model, pricing: Pricing, environ: Mapping[str, str], settings: Settings, store: Store) -> Writer:
    """The session's own model in the live request, or ``checkpoint.model`` with a request of its own.

    The embedded model follows a script and has no words for a checkpoint: there extraction writes.
    """
    if settings.checkpoint.model is not None:
        other = await connected(Choice(settings.checkpoint.model), environ, settings, store)
        return ModelWriter(other, price=Pricing(other.traits).loaded, forks=False)
    if model.traits.provider == "sojourn":
        return ExtractiveWriter()
    return ModelWriter(model, price=pricing.loaded)
