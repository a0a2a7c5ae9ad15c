"""Each fault as the official SDKs meet it."""

import asyncio
import http.client
import threading
import time
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from google.genai import errors as google_errors

from provider.raw import post
from provider.sdks import claude, gemini, gpt
from provider.server import Fault, Provider, Reply

HI: Any = [{"role": "user", "content": "Hi"}]
LONG = Reply("One two three four five six.", pieces=3)


def ask(provider: Provider, api: str, *, stream: bool = True, retries: int = 0, timeout: float = 5.0) -> str:
    """The text of an answer, through the SDK of that protocol."""
    if api == "anthropic":
        with claude(provider, retries=retries, timeout=timeout) as client:
            if not stream:
                return "".join(
                    getattr(block, "text", "") for block in client.messages.create(model="m", max_tokens=9, messages=HI).content
                )
            with client.messages.stream(model="m", max_tokens=9, messages=HI) as events:
                return "".join(events.text_stream)
    if api == "gemini":
        with gemini(provider, timeout=timeout) as third:
            if not stream:
                return third.models.generate_content(model="m", contents="Hi").text or ""
            return "".join(chunk.text or "" for chunk in third.models.generate_content_stream(model="m", contents="Hi"))
    with gpt(provider, retries=retries, timeout=timeout) as other:
        if api == "chat":
            if not stream:
                return other.chat.completions.create(model="m", messages=HI).choices[0].message.content or ""
            chunks = other.chat.completions.create(model="m", messages=HI, stream=True)
            return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        if not stream:
            return other.responses.create(model="m", input="Hi").output_text
        text = ""
        for event in other.responses.create(model="m", input="Hi", stream=True):
            text += event.delta if event.type == "response.output_text.delta" else ""
        return text


APIS = ["anthropic", "chat", "responses", "gemini"]
STATUSES: list[tuple[str, int, dict[str, type[Exception]]]] = [
    (
        "401",
        401,
        {"anthropic": anthropic.AuthenticationError, "openai": openai.AuthenticationError, "gemini": google_errors.ClientError},
    ),
    (
        "403",
        403,
        {
            "anthropic": anthropic.PermissionDeniedError,
            "openai": openai.PermissionDeniedError,
            "gemini": google_errors.ClientError,
        },
    ),
    ("404", 404, {"anthropic": anthropic.NotFoundError, "openai": openai.NotFoundError, "gemini": google_errors.ClientError}),
    (
        "413",
        413,
        {"anthropic": anthropic.RequestTooLargeError, "openai": openai.APIStatusError, "gemini": google_errors.ClientError},
    ),
    ("429", 429, {"anthropic": anthropic.RateLimitError, "openai": openai.RateLimitError, "gemini": google_errors.ClientError}),
    (
        "500",
        500,
        {"anthropic": anthropic.InternalServerError, "openai": openai.InternalServerError, "gemini": google_errors.ServerError},
    ),
    (
        "503",
        503,
        {
            "anthropic": anthropic.ServiceUnavailableError,
            "openai": openai.InternalServerError,
            "gemini": google_errors.ServerError,
        },
    ),
    (
        "529",
        529,
        {"anthropic": anthropic.OverloadedError, "openai": openai.InternalServerError, "gemini": google_errors.ServerError},
    ),
    (
        "502 html",
        502,
        {"anthropic": anthropic.InternalServerError, "openai": openai.InternalServerError, "gemini": google_errors.ServerError},
    ),
    (
        "overflow",
        400,
        {"anthropic": anthropic.BadRequestError, "openai": openai.BadRequestError, "gemini": google_errors.ClientError},
    ),
]


def status_of(error: Exception) -> int:
    return int(getattr(error, "status_code", 0) or getattr(error, "code", 0))


@pytest.mark.design("A-2")
@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(("kind", "status", "errors"), STATUSES, ids=[kind for kind, *_ in STATUSES])
def test_status(kind: Any, status: int, errors: dict[str, type[Exception]], api: str) -> None:
    stream = kind not in ("429", "502 html")
    with Provider(["Fine."]) as provider:
        provider.fail_next(1, kind)
        with pytest.raises(errors.get(api, errors["openai"])) as caught:
            ask(provider, api, stream=stream)
        assert status_of(caught.value) == status
        assert (provider.requests[0].status, provider.requests[0].fault, provider.requests[0].bill.cost) == (status, kind, 0.0)
        assert ask(provider, api, stream=stream) == "Fine."


@pytest.mark.design("A-2")
def test_the_words_of_faults() -> None:
    said = {
        ("anthropic", "quota"): (400, "Your credit balance is too low to access the Anthropic API."),
        ("chat", "quota"): (429, "You exceeded your current quota, please check your plan and billing details."),
        ("gemini", "quota"): (429, "You exceeded your current quota"),
        ("anthropic", "529"): (529, "Overloaded"),
        ("chat", "429"): (429, "Rate limit reached for test-model on tokens per min (TPM)"),
        ("gemini", "503"): (503, "The model is overloaded. Please try again later."),
        ("anthropic", "overflow"): (400, "prompt is too long: 201 tokens > 200 maximum"),
        ("chat", "overflow"): (400, "This model's maximum context length is 200 tokens."),
        ("responses", "overflow"): (400, "Your input exceeds the context window of this model."),
        ("gemini", "overflow"): (400, "The input token count (201) exceeds the maximum number of tokens allowed (200)."),
    }
    with Provider(limit=200) as provider:
        for (api, kind), (status, words) in said.items():
            provider.fail_next(1, kind)
            found, answer, _ = post(provider, api, {})
            assert (found, words in answer["error"]["message"]) == (status, True), (api, kind, answer)
        provider.fail_next(1, "quota")
        assert post(provider, "chat", {})[1]["error"]["code"] == "insufficient_quota"
        provider.fail_next(1, "500", message="Own words", code="own_code")
        assert post(provider, "chat", {})[1]["error"] == {
            "message": "Own words",
            "type": "server_error",
            "param": None,
            "code": "own_code",
        }


@pytest.mark.design("A-3")
@pytest.mark.parametrize("api", ["anthropic", "chat", "responses"])
def test_retry_after_is_honoured_by_the_sdk(api: str) -> None:
    with Provider(["Fine."]) as provider:
        provider.fail_next(2, Fault("429", retry_after=0.05))
        begun = time.monotonic()
        assert ask(provider, api, retries=2) == "Fine."
        assert 0.1 <= time.monotonic() - begun < 2
        assert [seen.status for seen in provider.requests] == [429, 429, 200]
        assert provider.breaks() == []


def test_retry_after_in_googles_words() -> None:
    with Provider() as provider:
        provider.fail_next(1, "429", retry_after=7)
        _, answer, headers = post(provider, "gemini", {})
        assert headers["retry-after"] == "7"
        assert answer["error"]["details"] == [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7s"}]
        assert answer["error"]["status"] == "RESOURCE_EXHAUSTED"


CONNECTION: Any = (anthropic.APIConnectionError, openai.APIConnectionError, httpx2.TransportError)


@pytest.mark.parametrize("api", APIS)
def test_hang(api: str) -> None:
    with Provider() as provider:
        provider.fail_next(1, "hang")
        with pytest.raises((anthropic.APITimeoutError, openai.APITimeoutError, httpx2.TimeoutException)):
            ask(provider, api, timeout=0.2)
        provider.settle()
        (seen,) = provider.requests
        assert (seen.status, seen.gone, seen.fault) == (0, True, "hang")


@pytest.mark.parametrize("api", APIS)
def test_hang_in_the_middle(api: str) -> None:
    with Provider([LONG]) as provider:
        provider.fail_next(1, "hang mid", after=3)
        with pytest.raises((anthropic.APITimeoutError, openai.APITimeoutError, httpx2.TimeoutException)):
            ask(provider, api, timeout=0.2)
        provider.settle()
        (seen,) = provider.requests
        assert (seen.status, seen.gone) == (200, True)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("api", APIS)
def test_close_before_the_head(api: str, stream: bool) -> None:
    with Provider(["Fine."]) as provider:
        provider.fail_next(1, "close")
        with pytest.raises(CONNECTION):
            ask(provider, api, stream=stream)
        assert provider.requests[0].status == 0
        assert ask(provider, api, stream=stream) == "Fine."


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("api", APIS)
def test_cut(api: str, stream: bool) -> None:
    with Provider([LONG]) as provider:
        provider.fail_next(1, "cut", after=4)
        with pytest.raises(CONNECTION):
            ask(provider, api, stream=stream)
        assert provider.requests[0].status == 200
        # The answer was not used up, and what was stored stays stored.
        assert ask(provider, api, stream=stream) == LONG.text


@pytest.mark.parametrize("api", APIS)
def test_an_event_that_is_no_json(api: str) -> None:
    with Provider([LONG]) as provider:
        provider.fail_next(1, "bad event", after=3)
        caught: Any = (ValueError, google_errors.UnknownApiResponseError, anthropic.APIError, openai.APIError)
        if api == "anthropic":
            # An event without a name is passed over: the message never ends.
            assert ask(provider, api) == LONG.text[:0]
            return
        with pytest.raises(caught):
            ask(provider, api)


@pytest.mark.parametrize("api", APIS)
def test_a_body_that_is_no_json(api: str) -> None:
    with Provider() as provider:
        provider.fail_next(1, "bad json")
        with pytest.raises(Exception) as caught:
            ask(provider, api, stream=False)
        assert not isinstance(caught.value, AssertionError)


@pytest.mark.parametrize("api", APIS)
def test_empty(api: str) -> None:
    with Provider() as provider:
        provider.fail_next(1, "empty")
        try:
            assert ask(provider, api) == ""
        except Exception as error:  # noqa: BLE001 - an SDK may call it an error
            assert not isinstance(error, AssertionError)
        assert provider.requests[0].status == 200


@pytest.mark.design("A-2")
@pytest.mark.parametrize(
    ("api", "code", "error", "words"),
    [
        ("anthropic", "overloaded_error", anthropic.APIStatusError, "Overloaded"),
        ("chat", "server_error", openai.APIError, "The server had an error while processing your request."),
        ("gemini", "503", google_errors.ServerError, "The model is overloaded."),
    ],
)
def test_an_error_event_inside_the_stream(api: str, code: str, error: type[Exception], words: str) -> None:
    with Provider([LONG]) as provider:
        provider.fail_next(1, "stream error", after=4, code=code)
        with pytest.raises(error, match=words):
            ask(provider, api)
        assert provider.requests[0].status == 200


def test_an_error_event_inside_the_stream_of_responses() -> None:
    with Provider([LONG]) as provider, gpt(provider) as client:
        provider.fail_next(1, "stream error", after=4, code="rate_limit_exceeded", message="Slow down.")
        events = list(client.responses.create(model="m", input="Hi", stream=True))
        last = events[-1].to_dict()
        assert (last["type"], last["code"], last["message"]) == ("error", "rate_limit_exceeded", "Slow down.")


def test_a_fault_of_a_reply_uses_it_up() -> None:
    with Provider([Reply("x", fault=Fault("529")), "Fine."]) as provider:
        with pytest.raises(anthropic.OverloadedError):
            ask(provider, "anthropic")
        assert ask(provider, "anthropic") == "Fine."
        assert [seen.fault for seen in provider.requests] == ["529", ""]


def test_faults_come_before_rules() -> None:
    with Provider() as provider:
        provider.fail_next(1, "529")
        assert post(provider, "anthropic", {})[0] == 529
        assert post(provider, "anthropic", {})[0] == 400


def test_counting_meets_no_fault() -> None:
    with Provider(["x"]) as provider:
        provider.fail_next(1, "500")
        body = {"model": "m", "messages": HI}
        assert post(provider, "count", body)[0] == 200
        assert post(provider, "anthropic", {**body, "max_tokens": 1})[0] == 500


def test_a_client_that_goes_away_is_seen() -> None:
    async def main(provider: Provider) -> None:
        async with openai.AsyncOpenAI(base_url=provider.base_url("chat"), api_key="test-key", max_retries=0) as client:
            stream = await client.chat.completions.create(model="m", messages=HI, stream=True)
            async for chunk in stream:
                if chunk.choices[0].delta.content:
                    break
            await stream.close()

    with Provider([Reply("x" * 500, pieces=1, pause=0.01)]) as provider:
        asyncio.run(main(provider))
        provider.settle()
        assert provider.requests[0].gone


def test_faults_that_begin_to_answer_want_no_script() -> None:
    with Provider() as provider:
        provider.fail_next(1, "cut", after=1)
        with pytest.raises(CONNECTION):
            ask(provider, "chat")
        provider.fail_next(1, "hang mid")
        with pytest.raises(openai.APITimeoutError):
            ask(provider, "chat", stream=False, timeout=0.2)
        provider.settle()
        assert [seen.fault for seen in provider.requests] == ["cut", "hang mid"]


def test_settle_names_what_is_open() -> None:
    def hang() -> None:
        with pytest.raises((OSError, http.client.HTTPException)):
            post(provider, "chat", {})

    with Provider() as provider:
        provider.fail_next(1, "hang")
        thread = threading.Thread(target=hang)
        thread.start()
        provider.wait(1)
        with pytest.raises(TimeoutError, match="requests still open: 1"):
            provider.settle(0.02)
    thread.join()


def test_wait() -> None:
    with Provider(["x"]) as provider:
        with pytest.raises(TimeoutError, match="0 of 1 requests"):
            provider.wait(1, timeout=0.02)
        thread = threading.Thread(target=post, args=(provider, "chat", {"model": "m", "messages": HI}))
        thread.start()
        assert len(provider.wait(1)) == 1
        thread.join()
