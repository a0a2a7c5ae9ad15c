"""From whatever an SDK raises to a ModelError (A-2). Looks at what the error carries, so that no SDK is imported here."""

import socket
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from sojourn.base import ErrorKind
from sojourn.models.canonical import canonical
from sojourn.models.errors import KEY_STEP, classify
from sojourn.models.types import NOT_NEEDED, Target
from sojourn.wire import ModelError

CONNECT = 10.0
"""Seconds that a connection may take."""

NOBODY = 3
"""Times that a server is asked in all where nobody listens, or of which the name is not known: it may just begin to run."""

_ADDRESSES = ("UnsupportedProtocol", "InvalidURL")
_TRANSPORT = ("httpx2", "httpcore2", "httpx", "httpcore", "ssl", "socket")


def failure(error: Exception, silence: float, base_url: str = "") -> ModelError:
    """``silence``: the seconds after which a stream without a word was given up. ``base_url``: who was asked, for messages."""
    if isinstance(error, ModelError):
        return error
    response: Any = getattr(error, "response", None)
    status = getattr(response, "status_code", None)
    if isinstance(status, int) and (status >= 400 or 300 <= status < 400):
        return classify(status=status, body=_body(error, response), headers=_headers(response))
    said = _details(error)
    if said is not None:
        return in_stream(said)
    return _lost(error, silence, base_url)


def in_stream(said: object) -> ModelError:
    """An error that a provider reported in the middle of a stream, as the JSON value that came."""
    return classify(status=None, body=said if isinstance(said, str) else canonical(said).decode())


def unreadable(error: Exception) -> ModelError:
    """For events that are not what the protocol says."""
    said = f"{type(error).__name__}: {error}"[:200]
    return ModelError(ErrorKind.UNAVAILABLE, f"the provider's answer cannot be read ({said})")


def advised(error: ModelError, target: Target) -> ModelError:
    """With a next step where it has none and can be asked again, and with the place where a refused key was found."""
    if error.next_step == KEY_STEP:
        if target.key_from.startswith(NOT_NEEDED):
            error.next_step = "No key was given for it: give one with --api-key."
        else:
            error.next_step = KEY_STEP.replace("the key", f"the key from {target.key_from}", 1)
    if not error.next_step and error.kind in (ErrorKind.UNAVAILABLE, ErrorKind.OVERLOADED):
        host, _ = _server(target.base_url)
        error.next_step = (
            f"Look whether {host} is up and speaks {target.traits.protocol} (--api, --base-url); another wording, or another"
            " model (`sojourn models`), may pass."
        )
    return error


def _server(base_url: str) -> tuple[str, str]:
    """Its host, and ``host:port``."""
    parts = urlsplit(base_url)
    if not parts.hostname:
        return "the provider", "the provider"
    return parts.hostname, f"{parts.hostname}:{parts.port or (443 if parts.scheme == 'https' else 80)}"


def _lost(error: Exception, silence: float, base_url: str) -> ModelError:
    """No answer, or no more of it."""
    chain = list(_chain(error))
    host, server = _server(base_url)
    names = [type(one).__name__ for one in chain]
    if any(name in _ADDRESSES for name in names):
        step = "Check --base-url: it begins with http:// or https://."
        return ModelError(ErrorKind.AUTH_FAILED, f"that is no address of a provider: {chain[-1]}", next_step=step)
    if "ConnectTimeout" in names:
        step = f"Look whether the provider is up at {server}, and check --base-url and the network."
        return ModelError(ErrorKind.UNAVAILABLE, f"no connection to {host} within {CONNECT:g} s", next_step=step)
    if any("Timeout" in name for name in names):
        step = f"Look whether {host} is up; where it only needs longer, set model.timeout (seconds)."
        return ModelError(ErrorKind.UNAVAILABLE, f"no word from the provider for {silence:g} s", next_step=step)
    nobody = next((one for one in chain if _is_nobody(one)), None)
    if nobody is not None:
        what = f"there is no host {host}" if isinstance(nobody, socket.gaierror) else f"nobody listens at {server}"
        step = f"Look whether the provider is up at {server}, and check --base-url."
        message = f"the connection to the provider failed: {what} ({nobody})"
        return ModelError(ErrorKind.UNAVAILABLE, message, attempts=NOBODY, next_step=step)
    if any(isinstance(one, OSError) or type(one).__module__.split(".")[0] in _TRANSPORT for one in chain):
        return classify(status=None, body=next((str(one) for one in reversed(chain) if str(one)), names[-1]))
    return unreadable(error)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what led to it, outermost first; of a group the first refusal, which several addresses of one host give."""
    seen: list[BaseException] = []
    one: BaseException | None = error
    while one is not None and one not in seen:
        seen.append(one)
        yield one
        if isinstance(one, BaseExceptionGroup):
            yield from (inner for inner in one.exceptions if isinstance(inner, OSError))
        one = one.__cause__ or one.__context__


def _is_nobody(error: BaseException) -> bool:
    """Whether asking again soon cannot help much: a refused port, a name that is not known (not: no network just now)."""
    if isinstance(error, socket.gaierror):
        return error.errno != socket.EAI_AGAIN
    return isinstance(error, ConnectionRefusedError)


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
