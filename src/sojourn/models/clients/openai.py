"""What Chat Completions and Responses share: the OpenAI SDK (A-1)."""

from collections.abc import AsyncGenerator
from typing import Any, ClassVar
from urllib.parse import urlsplit

from sojourn.models.clients.failures import CONNECT
from sojourn.models.clients.pages import no_page
from sojourn.models.clients.streaming import Body, Streaming

_HOST = "openai.com"


class OpenAI(Streaming):
    """Talks to a server of one of the two protocols."""

    sdk = "openai"
    extra = "openai"
    path: ClassVar[str]

    def _connect(self, sdk: Any) -> Any:
        return sdk.AsyncOpenAI(
            api_key=self._key,
            base_url=self._target.base_url or None,
            default_headers=dict(self._target.headers),
            timeout=sdk.Timeout(self._silence, connect=CONNECT),
            max_retries=0,
        )

    async def _events(self, connection: Any, body: Body) -> AsyncGenerator[Body, None]:
        content, kind = self._bytes(body), self._sdk.AsyncStream[object]
        stream = await connection.post(self.path, content=content, cast_to=object, stream=True, stream_cls=kind)
        try:
            async for event in no_page(stream, stream.response):
                yield event
        finally:
            await stream.close()

    async def _close(self, connection: Any) -> None:
        await connection.close()


def is_official(base_url: str) -> bool:
    """Whether the address is OpenAI's own: it takes fields that compatible servers refuse. Empty = the SDK's default."""
    host = urlsplit(base_url).hostname or ""
    return not base_url or host == _HOST or host.endswith(f".{_HOST}")
