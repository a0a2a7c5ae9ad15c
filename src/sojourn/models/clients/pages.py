"""Answers that are no answer of a provider: a web page at a wrong address, with a status as if all were well (A-2)."""

from collections.abc import AsyncGenerator, AsyncIterable
from typing import Any

import msgspec

from sojourn.models.errors import no_service

_STREAMS = ("", "text/event-stream", "application/json", "application/x-ndjson")
"""Content types in which providers answer; some name none."""


async def no_page(events: AsyncIterable[Any], response: Any) -> AsyncGenerator[Any, None]:
    """The events of an answer. Raises ModelError where its content type is another than providers have and it holds none:
    the type alone is not enough, since servers in between name wrong ones."""
    kind = str(response.headers.get("content-type") or "").partition(";")[0].strip().lower()
    came = False
    try:
        async for event in events:
            came = True
            yield event
    except (ValueError, msgspec.DecodeError) as error:
        if came or kind in _STREAMS:
            raise
        raise no_service(_asked(response), kind) from error
    if not came and kind not in _STREAMS:
        raise no_service(_asked(response), kind)


def _asked(response: Any) -> str:
    """The address without its query."""
    return str(response.request.url).partition("?")[0]
