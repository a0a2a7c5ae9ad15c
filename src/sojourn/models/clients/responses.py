"""OpenAI Responses over the OpenAI SDK (A-1)."""

from collections.abc import Iterator

from sojourn.models import responses
from sojourn.models.clients.answer import Answer
from sojourn.models.clients.failures import in_stream
from sojourn.models.clients.openai import OpenAI
from sojourn.models.clients.streaming import Body
from sojourn.models.clients.usage import responses_usage
from sojourn.wire import Event, ModelRequest

_APART = "\n\n"
"""Between two parts of one summary."""


class Client(OpenAI):
    """Talks to a server that speaks Responses. Nothing is kept there."""

    path = "/responses"

    def _body(self, request: ModelRequest) -> Body:
        return responses.encode(request) | {"stream": True}

    def _reader(self) -> "Reader":
        return Reader()


class Reader:
    """Reads the events of one answer. A thinking item comes back as a ``ReasoningEvent`` as ``models.responses`` wants it."""

    def __init__(self) -> None:
        self._answer = Answer()
        self._heard: set[int] = set()
        """The items of which text came piece by piece."""

    def read(self, event: Body) -> Iterator[Event]:
        kind = event.get("type") or ""
        match kind:
            case "response.output_text.delta":
                self._heard.add(event.get("output_index", 0))
                yield from self._answer.text(event["delta"])
            case "response.refusal.delta":
                self._heard.add(event.get("output_index", 0))
                self._answer.refusal += event["delta"]
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                yield from self._answer.thought(event["delta"])
            case "response.reasoning_summary_part.added" if event.get("summary_index"):
                yield from self._answer.thought(_APART)
            case "response.output_item.done":
                yield from self._item(event["item"], event.get("output_index", 0))
            case "response.completed" | "response.incomplete":
                self._ended(event["response"])
            case "response.failed":
                raise in_stream({"error": event["response"].get("error") or "the response failed"})
            case "error":
                raise in_stream(event if event.get("error") else {"error": event})

    def end(self) -> Iterator[Event]:
        yield from self._answer.end()

    def _item(self, item: Body, index: int) -> Iterator[Event]:
        match item["type"]:
            case "reasoning":
                yield from self._reasoning(item)
            case "function_call":
                yield from self._answer.call(item.get("call_id") or item["id"], item["name"], item["arguments"])
            case "message" if index not in self._heard:
                for block in item["content"]:
                    yield from self._answer.text(block.get("text") or "")
                    self._answer.refusal += block.get("refusal") or ""

    def _reasoning(self, item: Body) -> Iterator[Event]:
        """Without its encrypted content the item cannot be sent again, so its id is not kept either."""
        encrypted = item.get("encrypted_content") or ""
        said = [part["text"] for part in item.get("summary") or item.get("content") or ()]
        signature = item.get("id") or "" if encrypted else ""
        yield from self._answer.end_thought(signature, encrypted, _APART.join(said) if said else None)

    def _ended(self, response: Body) -> None:
        why = (response.get("incomplete_details") or {}).get("reason")
        self._answer.word = why or response.get("status") or "completed"
        self._answer.usage = responses_usage(response.get("usage") or {})
