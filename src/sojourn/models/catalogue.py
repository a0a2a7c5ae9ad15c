"""What is known of a model before it is asked: window, output cap, traits, each with its source (A-4).

The table is ``catalogue.toml`` beside this file. Prices are ``meter.price``'s.
"""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from ipaddress import ip_address
from urllib.parse import urlsplit

import msgspec

from sojourn.base import UserMistake, parse_quantity
from sojourn.config import Amount, ModelSettings
from sojourn.models.types import Api
from sojourn.wire import Traits

UNKNOWN_LIMIT = 128_000
"""Tokens: what is assumed of a model that nothing is known of (C-1)."""


class Provider(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where models are served."""

    id: str
    urls: dict[Api, str]
    """By protocol; the first is the one that is used where none is named."""
    aliases: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    """Variables that hold the key, the first one that is set counts; none = no key is needed."""
    base: str = ""
    """The variable that holds another base URL."""
    listed: tuple[str, ...] = ()
    """Models that ``sojourn models`` shows; the first is the one where none is named."""
    mid_system: bool = False
    images_most: int = 100
    cache_ttl: int = 300
    reports_cache: bool = True

    @property
    def api(self) -> Api:
        return next(iter(self.urls))


class Family(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Models of which the same is known."""

    names: tuple[str, ...]
    limit: int
    source: str
    provider: str = ""
    """Whose it is; empty = open weights, served by many."""
    output: int | None = None
    thinking: bool = False
    images: bool = False
    mid_system: bool = False


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    provider: tuple[Provider, ...]
    family: tuple[Family, ...]


@cache
def _table() -> _Table:
    text = files("sojourn.models").joinpath("catalogue.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), _Table)


def providers() -> tuple[Provider, ...]:
    """All that are known, in the order in which they are looked for."""
    return _table().provider


def families() -> tuple[Family, ...]:
    """The whole table."""
    return _table().family


def find_provider(name: str) -> Provider | None:
    """By its id or one of its other names, in any case."""
    name = name.lower()
    return next((one for one in providers() if one.id == name or name in one.aliases), None)


def provider_at(base_url: str) -> Provider | None:
    """By the host of a base URL; servers on this machine are known by their port as well."""
    place = _place(base_url)
    return next((one for one in providers() if any(_place(url) == place for url in one.urls.values())), None)


def is_loopback(base_url: str) -> bool:
    """Whether the address stays on this machine."""
    try:
        address = ip_address(_place(base_url)[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _place(base_url: str) -> tuple[str, int | None]:
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    return "127.0.0.1" if host == "localhost" else host, parts.port


# --- names --------------------------------------------------------------------------------------------------------

_WINDOW_SUFFIX = re.compile(r"\[\d+[mk]\]$", re.IGNORECASE)
_PREFIX = re.compile(r"^.*/|^(?:[a-z]{2,6}\.)?(?:anthropic|openai|deepseek|moonshotai|mistral|meta|qwen|zai|google)\.")
_VARIANT = re.compile(r":(?:free|nitro|floor|thinking|batch|extended|online|exacto|beta|latest|cloud)$|@.*$|-v\d+:\d+$|\.gguf$")
_DATE = re.compile(r"-(?:20\d{6}|(?:20\d\d-)?\d\d-\d\d)$|-(?:latest|preview|exp|experimental)(?:-\d\d-\d\d(?:\d\d)?)?$")
_NO_TALK = re.compile(r"-(?:tts|audio|realtime|image|transcribe|live|embed)(?:-|$)")
"""Relatives of a model that are made for something else, with windows of their own."""
_SWAPPED = re.compile(r"^claude-([4-9](?:-\d)?)-(opus|sonnet|haiku)")


def sent_name(name: str) -> str:
    """The name as the provider knows it: without a suffix such as ``[1m]``, which only other programs understand."""
    return _WINDOW_SUFFIX.sub("", name.strip())


def plain_name(name: str) -> str:
    """The name as families have it: no provider or region, no variant, no date, lower case, dots and colons as dashes."""
    plain = sent_name(name).lower()
    for pattern in (_PREFIX, _VARIANT):
        plain = pattern.sub("", plain)
    while (shorter := _DATE.sub("", plain)) != plain:
        plain = shorter
    plain = re.sub(r"[.:_]", "-", plain)
    return _SWAPPED.sub(r"claude-\2-\1", plain)


def family_of(name: str) -> Family | None:
    """What is known of a model, by any form of its name (report 35); None = nothing."""
    plain = plain_name(name)
    if _NO_TALK.search(plain):
        return None
    fitting = [(len(known), family) for family in families() for known in family.names if _fits(plain, known)]
    return max(fitting, key=lambda pair: pair[0])[1] if fitting else None


def _fits(plain: str, known: str) -> bool:
    if not plain.startswith(known):
        return False
    rest = plain[len(known) :]
    # Another number behind the name is another version: nothing is known of that one.
    return not rest or (rest[0] == "-" and not re.match(r"-\d{1,2}(?:-|$)", rest))


# --- traits -------------------------------------------------------------------------------------------------------


def traits(provider: str, name: str, api: Api, base_url: str, settings: ModelSettings, limit: int | None) -> Traits:
    """What projection must know of one model at one endpoint.

    The limit is, in this order: ``limit`` (``--window``, source ``option``), ``model.limit`` (``config``), the table's
    (``catalogue``), else 128,000 (``default``). ``model.output`` goes before the table's output cap. Raises UserMistake
    for a bad amount in the settings.
    """
    family = family_of(name)
    served = find_provider(provider)
    known, source = (family.limit, "catalogue") if family else (UNKNOWN_LIMIT, "default")
    if (asked := _setting("model.limit", settings.limit, provider, name, of=known)) is not None:
        known, source = asked, "config"
    if limit is not None:
        known, source = limit, "option"
    output = _setting("model.output", settings.output, provider, name, of=known) or (family.output if family else None)
    return Traits(
        name=sent_name(name),
        provider=provider,
        protocol=api,
        limit=known,
        limit_source=source,
        output_cap=output,
        thinking=family is not None and family.thinking,
        # A picture that a model cannot see kills every request that holds it: better a line that says so.
        images=family.images if family else _sees(name),
        images_most=served.images_most if served else 100,
        mid_system=_takes_system(family, served, api, base_url),
        marks=4 if api == "anthropic" else 0,
        reports_cache=served is None or served.reports_cache,
        cache_ttl=served.cache_ttl if served else 300,
    )


def _takes_system(family: Family | None, served: Provider | None, api: Api, base_url: str) -> bool:
    """Off unless it is documented for this protocol at this host (Q-6): others may refuse or misplace such a message."""
    if served is None or api == "gemini":
        return False
    own = {_place(url) for protocol, url in served.urls.items() if protocol == api}
    documented = served.mid_system or (family is not None and family.mid_system and family.provider == served.id)
    return documented and _place(base_url) in own


def _sees(name: str) -> bool:
    return re.search(r"vision|llava|omni|[-_:/]?vl\b|pixtral", name.lower()) is not None


def _setting(key: str, patterns: Mapping[str, Amount], provider: str, name: str, *, of: int) -> int | None:
    """The amount of the most specific pattern that fits ``provider/name`` or the bare name."""
    called = [name, sent_name(name)] + ([f"{provider}/{name}", f"{provider}/{sent_name(name)}"] if provider else [])
    fitting = [pattern for pattern in patterns if any(_matches(pattern, one) for one in called)]
    if not fitting:
        return None
    pattern = max(fitting, key=lambda one: (len(one), -one.count("*") - one.count("?")))
    amount = parse_quantity(patterns[pattern], key=f'{key}."{pattern}"', of=of)
    if amount < 1:
        raise UserMistake(f'{key}."{pattern}" = {patterns[pattern]!r} is no number of tokens', next_step="Give more than 0.")
    return amount


def _matches(pattern: str, name: str) -> bool:
    # Only * and ? are wildcards: names may hold brackets, which fnmatch would read as a set.
    wild = "".join(".*" if char == "*" else "." if char == "?" else re.escape(char) for char in pattern)
    return re.fullmatch(wild, name, re.DOTALL) is not None
