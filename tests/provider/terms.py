"""The provider's conditions: what one host and model take."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

Api = Literal["anthropic", "chat", "responses", "gemini"]
Dialect = Literal["openai", "llama.cpp", "deepseek"]


@dataclass(frozen=True, kw_only=True)
class Terms:
    """Every field is an argument of ``Provider``.

    ``key``: None = none is asked for. ``models``: None = every name is known. ``limit``: tokens of input
    (``output_in_limit``: and of ``max_tokens`` together). ``dialect``: how the Chat side speaks: ``llama.cpp`` words
    overflow and errors as that server does and takes unknown fields; ``deepseek`` wants ``reasoning_content`` back inside a
    tool run and caches in steps of 64 tokens. ``mid_system``: whether the Anthropic side takes role system in
    mid-conversation. ``alternate``: whether the Chat side has a template that refuses two messages of one role and a late
    system message. ``prefill``: whether a request may end with an assistant message. ``refuse_fields``: body fields that
    this model does not support. ``overflow_in_stream``: Responses says it inside the 200 stream. ``image_base64``: the
    longest a picture's base64 may be, as Anthropic counts it. ``cache_minimum``: tokens below which nothing is cached;
    ``cache_ttl``: seconds of the provider's clock.
    """

    key: str | None = "test-key"
    models: Collection[str] | None = None
    limit: int = 200_000
    output_in_limit: bool = False
    output_cap: int = 128_000
    dialect: Dialect = "openai"
    mid_system: bool = False
    alternate: bool = False
    prefill: bool = False
    refuse_fields: Collection[str] = ()
    overflow_in_stream: bool = False
    body_bytes: int = 32 * 1024 * 1024
    images_most: int = 100
    many_images: int = 20
    many_images_side: int = 2_000
    image_side: int = 8_000
    image_base64: int = 5 * 1024 * 1024
    cache_minimum: int = 1_024
    cache_ttl: float = 300.0
