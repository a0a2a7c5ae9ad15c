"""Pictures get their bytes just before a request leaves (A-1, Q-3).

Which pictures are sent is decided by the projection; the client only fills. Where a request holds more of them than the
model takes all the same, the oldest are named instead of shown: refused as a whole it would be of no use to anybody.
"""

from base64 import b64encode
from collections.abc import Iterator

import msgspec

from sojourn.models.types import Blobs
from sojourn.wire import ImagePart, ModelRequest, ResultPart, TextPart, WireMessage, WirePart

GONE = "its bytes are gone"
TOO_MANY = "left out: the model takes no more than {most} pictures"


class Pictures:
    """Fills requests, several at once where need be; what the request before held is not read again."""

    def __init__(self, blobs: Blobs | None, most: int) -> None:
        self._blobs = blobs
        self._most = most
        self._known: dict[str, str] = {}
        """Base64 of the pictures of the newest request, by address."""

    async def fill(self, request: ModelRequest) -> ModelRequest:
        """The request with the bytes of every picture, or a line of text that names one that is gone or too many.

        The same object where there is none. ``Blobs`` decides which errors come out of it.
        """
        pictures = [part for message in request.messages for part in _pictures(message)]
        if not pictures:
            return request
        surplus = max(0, len(pictures) - self._most)
        addresses = {part.blob for part in pictures[surplus:] if not part.data}
        known = {address: self._known.get(address) or await self._read(address) for address in addresses}
        self._known = known
        shown = iter([self._shown(part, known, number < surplus) for number, part in enumerate(pictures)])
        messages = tuple(_filled(message, shown) if _pictures(message) else message for message in request.messages)
        return msgspec.structs.replace(request, messages=messages)

    async def _read(self, address: str) -> str:
        """Empty = gone."""
        data = await self._blobs(address) if self._blobs else None
        return b64encode(data).decode() if data else ""

    def _shown(self, part: ImagePart, known: dict[str, str], too_many: bool) -> ImagePart | TextPart:
        if too_many:
            return _named(part, TOO_MANY.format(most=self._most))
        data = part.data or known[part.blob]
        return msgspec.structs.replace(part, data=data) if data else _named(part, GONE)


def _pictures(message: WireMessage) -> list[ImagePart]:
    found: list[ImagePart] = []
    for part in message.parts:
        if isinstance(part, ImagePart):
            found.append(part)
        elif isinstance(part, ResultPart):
            found += [one for one in part.content if isinstance(one, ImagePart)]
    return found


def _filled(message: WireMessage, shown: Iterator[ImagePart | TextPart]) -> WireMessage:
    return msgspec.structs.replace(message, parts=tuple(_put(part, shown) for part in message.parts))


def _put(part: WirePart, shown: Iterator[ImagePart | TextPart]) -> WirePart:
    """The part with its pictures replaced by the next of ``shown``: both come in one order."""
    match part:
        case ImagePart():
            return next(shown)
        case ResultPart():
            content = tuple(next(shown) if isinstance(one, ImagePart) else one for one in part.content)
            return msgspec.structs.replace(part, content=content)
        case _:
            return part


def _named(part: ImagePart, why: str) -> TextPart:
    return TextPart(f"[picture {part.about.name or part.blob[:12]}: {part.media_type}; {why}]", part.about)
