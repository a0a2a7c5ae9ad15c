"""Serialising step by step: one more step costs its own part, not the whole window."""

from types import ModuleType
from typing import Any, Literal

from sojourn.models import anthropic, chat, gemini, responses
from sojourn.wire import ModelRequest, WireMessage

Body = dict[str, Any]
Protocol = Literal["anthropic", "chat", "responses", "gemini"]

SERIALISERS: dict[Protocol, ModuleType] = {
    "anthropic": anthropic,
    "chat": chat,
    "responses": responses,
    "gemini": gemini,
}
"""Each gives ``CONVERSATION``, ``encode``, ``encode_head``, ``encode_message`` and ``with_mark``."""


class Encoder:
    """Remembers the encoded messages of the request before.

    ``encode`` gives exactly what the protocol's pure ``encode`` gives for the same request, whatever came before.
    The messages inside a returned body are shared with later ones: read them, do not change them.
    """

    def __init__(self, protocol: Protocol) -> None:
        self._serialiser = SERIALISERS[protocol]
        self._seen: list[WireMessage] = []
        self._marked: list[int] = []
        """Where marks stand in ``_seen``, in order."""
        self._encoded: list[Body] = []
        self._ends: list[int] = []
        """For each message of ``_seen``: where its encoded ones end in ``_encoded``."""

    def encode(self, request: ModelRequest) -> Body:
        """The body of the request."""
        keep = self._keep(request.messages)
        del self._ends[keep:]
        del self._encoded[self._ends[-1] if self._ends else 0 :]
        for message in request.messages[keep:]:
            self._encoded += self._serialiser.encode_message(message)
            self._ends.append(len(self._encoded))
        candidates = [index for index in self._marked if index < keep] + list(range(keep, len(request.messages)))
        self._marked = [index for index in candidates if request.messages[index].mark]
        body: Body = self._serialiser.encode_head(request)
        conversation: list[Body] = body[self._serialiser.CONVERSATION]
        before = len(conversation)
        conversation += self._encoded
        for index in self._marked:
            place = before + self._ends[index] - 1
            conversation[place] = self._serialiser.with_mark(conversation[place], request.messages[index].mark)
        return body

    def _keep(self, messages: tuple[WireMessage, ...]) -> int:
        """How many messages from the start need no encoding: all that were seen before but the last, or none.

        Marks move from step to step, so the messages that had one are compared without it. The rest is one comparison
        of lists: a pointer a message.
        """
        seen, self._seen = self._seen, list(messages)
        keep = len(seen) - 1
        if keep <= 0 or len(messages) < keep:
            return 0
        del seen[keep:]
        for index in self._marked:
            if index < keep and seen[index].parts == messages[index].parts and seen[index].role == messages[index].role:
                seen[index] = messages[index]
        tail = self._seen[keep:]
        del self._seen[keep:]
        same = seen == self._seen
        self._seen += tail
        return keep if same else 0
