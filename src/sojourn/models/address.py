"""Base URLs as people write them, made into what the clients take (A-5)."""

from urllib.parse import SplitResult, urlsplit

from sojourn.base import UserMistake
from sojourn.models.types import Api

_ENDS = ("/chat/completions", "/responses", "/messages", "/models")
"""Paths of single calls, which people paste."""


def base_url(url: str, api: Api, *, said: str) -> str:
    """The base URL without a slash at its end: with ``/v1`` for ``chat`` and ``responses`` where there is no path,
    without the version for ``anthropic`` and ``gemini``.

    ``said``: where it stands (``--base-url``, a variable, a setting), for the error. Raises UserMistake for what is no
    http or https address, or holds a password or a query.
    """
    parts = _parts(url, said)
    path = parts.path.rstrip("/")
    for end in _ENDS:
        path = path.removesuffix(end)
    match api:
        case "anthropic":
            path = path.removesuffix("/v1")
        case "gemini":
            path = path.removesuffix("/v1beta").removesuffix("/v1")
        case "chat" | "responses":
            path = path or "/v1"
    return f"{parts.scheme.lower()}://{parts.netloc}{path}"


def _parts(url: str, said: str) -> SplitResult:
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UserMistake(f"{said} {url!r} is no address: {error}", next_step="Write it as http://HOST:PORT/v1.") from None
    if "@" in parts.netloc:
        raise UserMistake(f"{said} holds a user name or password", next_step="Give the key with --api-key or its variable.")
    if parts.scheme.lower() not in ("http", "https") or not host or port == 0:
        shown = url if "://" in url else f"http://{url}"
        step = "An address begins with http:// or https://" + (f", such as {shown}." if "://" not in url else ".")
        raise UserMistake(f"{said} {url!r} is no address of a server", next_step=step)
    if parts.query or parts.fragment:
        raise UserMistake(f"{said} has something behind its path, from ? or # on", next_step="Leave that part out.")
    return parts
