"""From whatever an SDK raises to a ModelError (A-2). Looks at what the error carries, so that no SDK is imported here."""

from collections.abc import Mapping
from typing import Any

from sojourn.base import ErrorKind
from sojourn.models.canonical import canonical
from sojourn.models.errors import classify
from sojourn.wire import ModelError

CONNECT = 10.0
"""Seconds that a connection may take."""

_ADDRESSES = ("UnsupportedProtocol", "InvalidURL")
_TRANSPORT = ("httpx2", "httpcore2", "httpx", "httpcore", "ssl", "socket")


def failure(error: Exception, silence: float) -> ModelError:
    """``silence``: the seconds after which a stream without a word was given up."""
    if isinstance(error, ModelError):
        return error
    response: Any = getattr(error, "response", None)
    status = getattr(response, "status_code", None)
    if isinstance(status, int) and (status >= 400 or 300 <= status < 400):
        return classify(status=status, body=_body(error, response), headers=_headers(response))
    said = _details(error)
    if said is not None:
        return in_stream(said)
    return _lost(error, silence)


def in_stream(said: object) -> ModelError:
    """An error that a provider reported in the middle of a stream, as the JSON value that came."""
    return classify(status=None, body=said if isinstance(said, str) else canonical(said).decode())


def unreadable(error: Exception) -> ModelError:
    """For events that are not what the protocol says."""
    said = f"{type(error).__name__}: {error}"[:200]
    return ModelError(ErrorKind.UNAVAILABLE, f"the provider's answer cannot be read ({said})")


def _lost(error: Exception, silence: float) -> ModelError:
    """No answer, or no more of it."""
    chain: list[BaseException] = [error]
    while (cause := chain[-1].__cause__ or chain[-1].__context__) is not None and cause not in chain:
        chain.append(cause)
    names = [type(one).__name__ for one in chain]
    if any(name in _ADDRESSES for name in names):
        step = "Check --base-url: it begins with http:// or https://."
        return ModelError(ErrorKind.AUTH_FAILED, f"that is no address of a provider: {chain[-1]}", next_step=step)
    if "ConnectTimeout" in names:
        return ModelError(ErrorKind.UNAVAILABLE, f"no connection to the provider within {CONNECT:g} s")
    if any("Timeout" in name for name in names):
        return ModelError(ErrorKind.UNAVAILABLE, f"no word from the provider for {silence:g} s")
    if any(isinstance(one, OSError) or type(one).__module__.split(".")[0] in _TRANSPORT for one in chain):
        return classify(status=None, body=next((str(one) for one in reversed(chain) if str(one)), names[-1]))
    return unreadable(error)


def _body(error: Exception, response: Any) -> str:
    """The text as it came; what the SDK made of it where the text was let go."""
    try:
        return str(response.text)
    except (RuntimeError, AttributeError, UnicodeError):
        said = _details(error)
        return str(error) if said is None else canonical(said).decode()


def _details(error: Exception) -> object | None:
    """What SDKs keep of an error's JSON, without its outer shell or with it."""
    for name in ("body", "details"):
        said = getattr(error, name, None)
        if isinstance(said, Mapping):
            return said if "error" in said else {"error": said}
        if isinstance(said, str) and said:
            return said
    return None


def _headers(response: Any) -> Mapping[str, str]:
    headers = getattr(response, "headers", None)
    return {str(name): str(value) for name, value in headers.items()} if headers is not None else {}
