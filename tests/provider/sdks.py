"""The official SDKs, set on a provider. Without certificates to load a client is made in no time."""

from collections.abc import Iterator
from contextlib import contextmanager

import anthropic
import httpx2
import openai
from google import genai
from google.genai import types as google

from provider.server import Provider


@contextmanager
def claude(provider: Provider, *, retries: int = 0, timeout: float = 5.0) -> Iterator[anthropic.Anthropic]:
    """Anthropic's client."""
    with (
        httpx2.Client(verify=False) as http,
        anthropic.Anthropic(
            base_url=provider.base_url("anthropic"), api_key="test-key", max_retries=retries, timeout=timeout, http_client=http
        ) as client,
    ):
        yield client


@contextmanager
def gpt(provider: Provider, *, retries: int = 0, timeout: float = 5.0) -> Iterator[openai.OpenAI]:
    """OpenAI's client, for Chat and Responses."""
    with (
        httpx2.Client(verify=False) as http,
        openai.OpenAI(
            base_url=provider.base_url("chat"), api_key="test-key", max_retries=retries, timeout=timeout, http_client=http
        ) as client,
    ):
        yield client


@contextmanager
def gemini(provider: Provider, *, timeout: float = 5.0) -> Iterator[genai.Client]:
    """Google's client."""
    with httpx2.Client(verify=False) as http:
        options = google.HttpOptions(
            base_url=provider.base_url("gemini"),
            api_version="v1beta",
            timeout=int(timeout * 1000),
            httpx_client=http,
            httpx_async_client=httpx2.AsyncClient(verify=False),
        )
        client = genai.Client(api_key="test-key", http_options=options)
        try:
            yield client
        finally:
            client.close()
