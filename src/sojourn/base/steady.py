"""Work that must come to its end once it has begun, whatever is cancelled meanwhile."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def finish_first(work: Coroutine[Any, Any, T] | asyncio.Future[T]) -> T:
    """What the work gives. A cancel that comes meanwhile, and a second one, is raised when the work has ended."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        if not task.cancelled():
            task.exception()  # looked at: the cancel is what the caller hears of
        raise cancelled
    return task.result()
