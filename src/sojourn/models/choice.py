"""Which model, where, and with which key (A-4, A-5).

The order: what was said on the command line, ``model.default``, the first provider whose key is in the environment, a
server on this machine if it is the only one with the only model, else ``scripted``.
"""

from collections.abc import Callable, Iterator, Mapping

import msgspec

from sojourn.base import UserMistake
from sojourn.config import Settings
from sojourn.models.address import base_url
from sojourn.models.catalogue import Provider, family_of, find_provider, is_loopback, provider_at, providers, traits
from sojourn.models.connect import SCRIPTED, installed
from sojourn.models.local import Probe, Server, look, probe
from sojourn.models.types import NOT_NEEDED, Api, Choice, Target, Usable, key_variable
from sojourn.wire import Traits

_PLACEHOLDER = "not-needed"
"""A key for servers that want none: SDKs insist on one."""
_KEYS: dict[Api, str] = {
    "anthropic": "ANTHROPIC_API_KEY",
    "chat": "OPENAI_API_KEY",
    "responses": "OPENAI_API_KEY",
    "gemini": "GEMINI_API_KEY",
}
"""Where the key of a server that is not known by name is looked for, as the SDKs do."""
_LIST = "`sojourn models` shows what is usable."
_KNOWN = ("catalogue", "default")
"""Sources of a limit that the server itself knows better."""

Look = Callable[[str, str, str], Server | None]
"""Base URL, kind and key (empty = none) to the server."""


class _Search(msgspec.Struct, frozen=True):
    """What all ways of finding a model need."""

    choice: Choice
    environ: Mapping[str, str]
    settings: Settings
    probe: Probe
    look: Look


def resolve(
    choice: Choice, environ: Mapping[str, str], settings: Settings, *, probe: Probe = probe, look: Look = look
) -> Target:
    """The one model to talk to. Asks servers on this machine, and only those, for at most 0.3 s.

    Raises UserMistake, with what to do: no key, an unknown provider, a bad address, two that could be meant.
    """
    search = _Search(choice, environ, settings, probe, look)
    if choice.model == SCRIPTED:
        if choice.base_url:
            raise UserMistake(f"{SCRIPTED} is built in: it has no --base-url", next_step="Name another model.")
        return _scripted(choice)
    if choice.base_url:
        return _at_address(search, choice.base_url)
    named = choice.model or settings.model.default
    if named:
        return _scripted(choice) if named == SCRIPTED else _named(search, named)
    return _found(search)


# --- the ways -----------------------------------------------------------------------------------------------------


def _found(search: _Search) -> Target:
    """Nothing was said but perhaps a protocol."""
    api = search.choice.api
    if search.choice.api_key:
        raise UserMistake("--api-key names no provider", next_step="Add --model provider/name, or --base-url.")
    for provider in providers():
        if any(search.environ.get(name) for name in provider.keys) and (api is None or api in provider.urls):
            return _at_provider(search, provider, provider.listed[0])
    if api in (None, "chat"):
        local = [(server, model) for server in search.probe() for model in server.models]
        if len(local) == 1:
            server, model = local[0]
            return _on_server(search, server, model.name)
    if api is not None:
        raise UserMistake(f"no key for a provider that speaks {api} is set", next_step=_LIST)
    return _scripted(search.choice)


def _named(search: _Search, model: str) -> Target:
    prefix, slash, rest = model.partition("/")
    if slash and rest and prefix in search.settings.model.servers:
        return _configured(search, prefix, rest)
    if slash and rest and (provider := find_provider(prefix)):
        return _at_provider(search, provider, rest)
    family = family_of(model)
    owner = find_provider(family.provider) if family and family.provider and not slash else None
    if owner and (search.choice.api_key or any(search.environ.get(name) for name in owner.keys)):
        return _at_provider(search, owner, model)
    for server in search.probe():
        if any(one.name == model for one in server.models):
            return _on_server(search, server, model)
    if owner:
        return _at_provider(search, owner, model)  # says which key is missing
    router = find_provider("openrouter")
    if slash and router and any(search.environ.get(name) for name in router.keys):
        return _at_provider(search, router, model)
    raise UserMistake(
        f"it is not known where the model {model!r} is served",
        next_step=f"Name it as provider/name, or give --base-url. {_LIST}",
    )


def _at_provider(search: _Search, provider: Provider, name: str) -> Target:
    choice, environ = search.choice, search.environ
    api = choice.api or provider.api
    if api not in provider.urls:
        raise UserMistake(f"{provider.id} does not speak {api}", next_step=f"It speaks {', '.join(provider.urls)}.")
    url, said = provider.urls[api], provider.id
    usual = url == provider.urls[provider.api]  # the variable is not meant for the provider's other protocols
    if provider.base and usual and (other := environ.get(provider.base, "").strip()):
        said = provider.base
        if choice.api is None and "chat" in provider.urls and provider_at(other) is not provider:
            api = "chat"  # what servers that stand in for a provider speak
        url = other
    url = base_url(url, api, said=said)
    if provider.keys or choice.api_key:
        key, key_from = _key(choice, environ, provider.keys, loopback=is_loopback(url), whose=provider.id)
    else:
        key, key_from = _PLACEHOLDER, NOT_NEEDED
    known = traits(provider.id, name, api, url, search.settings.model, choice.limit)
    if is_loopback(url):
        known = _as_loaded(known, search.look(url, provider.id, ""))
    return Target(known, url, key, key_from)


def _at_address(search: _Search, address: str) -> Target:
    """``--base-url``: the name goes out as it stands."""
    choice = search.choice
    provider = provider_at(base_url(address, "gemini", said="--base-url"))
    api = choice.api or (provider.api if provider else "chat")
    url = base_url(address, api, said="--base-url")
    local = is_loopback(url)
    variables = provider.keys if provider else (_KEYS[api],)
    # A key of the environment belongs to somebody else than a server on this machine.
    key, key_from = _key(choice, {} if local else search.environ, variables, loopback=local, whose=url)
    server = None
    if local and api in ("chat", "responses"):
        # The one key that was given for exactly this address.
        server = search.look(url, provider.id if provider else "", "" if key_from == NOT_NEEDED else key)
    name = choice.model or _only_model(server, url)
    called = provider.id if provider else ""
    return Target(_as_loaded(traits(called, name, api, url, search.settings.model, choice.limit), server), url, key, key_from)


def _configured(search: _Search, server: str, name: str) -> Target:
    """One of ``model.servers``."""
    choice = search.choice
    api = choice.api or "chat"
    url = base_url(search.settings.model.servers[server], api, said=f"model.servers.{server}")
    key, key_from = _key(choice, search.environ, (key_variable(server),), loopback=True, whose=server)
    known = traits(server, name, api, url, search.settings.model, choice.limit)
    if is_loopback(url):
        known = _as_loaded(known, search.look(url, "", ""))
    return Target(known, url, key, key_from)


def _on_server(search: _Search, server: Server, name: str) -> Target:
    known = traits(server.kind, name, "chat", server.base_url, search.settings.model, search.choice.limit)
    key_from = f"{NOT_NEEDED}: server at {server.base_url}"
    return Target(_as_loaded(known, server), server.base_url, search.choice.api_key or _PLACEHOLDER, key_from)


def _scripted(choice: Choice) -> Target:
    limit, source = (128_000, "catalogue") if choice.limit is None else (choice.limit, "option")
    known = Traits(name=SCRIPTED, provider="sojourn", protocol="chat", limit=limit, limit_source=source, images=False, marks=0)
    return Target(known, "", "", NOT_NEEDED)


# --- pieces -------------------------------------------------------------------------------------------------------


def _key(
    choice: Choice, environ: Mapping[str, str], variables: tuple[str, ...], *, loopback: bool, whose: str
) -> tuple[str, str]:
    """The key and where it was found. Never shown, in no error either."""
    places = [("--api-key", choice.api_key or ""), *((name, environ.get(name, "")) for name in variables)]
    for place, value in places:
        key = value.strip()
        if not key:
            continue
        if not key.isascii() or not key.isprintable() or " " in key:
            raise UserMistake(f"what {place} holds is no key: it has spaces or letters that keys do not have", next_step=_LIST)
        return key, place
    if loopback:
        return _PLACEHOLDER, NOT_NEEDED
    raise UserMistake(
        f"{' or '.join(variables)} is not set: there is no key for {whose}",
        next_step=f"Set {variables[0]}, or give --api-key. {_LIST}",
    )


def _only_model(server: Server | None, url: str) -> str:
    if server is not None and len(server.models) == 1:
        return server.models[0].name
    names = ", ".join(model.name for model in server.models[:10]) if server is not None else ""
    raise UserMistake(f"which model at {url}?", next_step=f"--model names one{f': {names}' if names else ''}.")


def _as_loaded(known: Traits, server: Server | None) -> Traits:
    """With the window that the server itself names: it may have loaded the model with a smaller one."""
    if server is None or known.limit_source not in _KNOWN:
        return known
    limit = next((model.limit for model in server.models if model.name == known.name), None)
    return known if limit is None else msgspec.structs.replace(known, limit=limit, limit_source="server")


# --- what could be used -------------------------------------------------------------------------------------------


def usable(environ: Mapping[str, str], settings: Settings, probe: Probe = probe) -> tuple[Usable, ...]:
    """Every model that could be named now, and for each provider that cannot be used what is missing: grouped by provider,
    the usable ones first, ``scripted`` last of them."""
    servers = probe()

    def looked(url: str, kind: str, key: str) -> Server | None:
        return next((one for one in servers if one.base_url == url), None)

    search = _Search(Choice(), environ, settings, lambda: servers, looked)
    named = settings.model.default
    lines = [_line(search, named)] if named and named != SCRIPTED else []
    for server in servers:
        lines += (_reached(f"{server.kind}/{model.name}", _on_server(search, server, model.name)) for model in server.models)
    lines += (_line(search, f"{name}/NAME") for name in settings.model.servers)
    for provider in providers():
        if provider.keys:
            lines += _provider_lines(search, provider)
    scripted = _scripted(search.choice).traits
    built_in = "built in: no key, no network, no language model"
    lines.append(Usable(SCRIPTED, scripted.protocol, scripted.limit, scripted.limit_source, True, built_in))
    once: dict[str, Usable] = {}
    for line in lines:
        once.setdefault(line.model, line)
    return tuple(sorted(once.values(), key=lambda line: not line.usable))


def _provider_lines(search: _Search, provider: Provider) -> Iterator[Usable]:
    for name in provider.listed:
        line = _line(search, f"{provider.id}/{name}")
        yield line
        if not line.usable:
            return  # what is missing is the same for all


def _line(search: _Search, model: str) -> Usable:
    try:
        return _reached(model, _named(search, model))
    except UserMistake as mistake:
        prefix, _, name = model.partition("/")
        provider = find_provider(prefix)
        api = provider.api if provider else "chat"
        guess = traits(prefix, name or model, api, "", search.settings.model, None)
        return Usable(model, api, guess.limit, guess.limit_source, False, str(mistake))


def _reached(model: str, target: Target) -> Usable:
    """With where the key is, or the server; and the address where it is not the provider's own."""
    found, api = target.traits, target.traits.protocol
    own = find_provider(found.provider)
    if not installed(api):
        why = 'not installed: pip install "sojourn[agent]"'
    elif target.key_from.startswith(NOT_NEEDED):
        why = f"server at {target.base_url}"
    elif own is not None and provider_at(target.base_url) is own:
        why = target.key_from
    else:
        why = f"{target.key_from}, at {target.base_url}"
    return Usable(model, api, found.limit, found.limit_source, installed(api), why)
