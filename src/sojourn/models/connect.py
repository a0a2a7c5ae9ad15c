"""From a target to a model that can be asked (A-1, A-5)."""

import importlib
import importlib.util

from sojourn.base import UserMistake
from sojourn.models.retry import Retrying
from sojourn.models.types import SILENCE, Api, Blobs, Target
from sojourn.wire import Model

_SDKS: dict[Api, str] = {"anthropic": "anthropic", "chat": "openai", "responses": "openai", "gemini": "google.genai"}
SCRIPTED = "scripted"


def connect(target: Target, blobs: Blobs, *, silence: float = SILENCE) -> Model:
    """The model, asked again where that helps (A-3). No connection is made and no SDK imported before the first request.

    ``blobs`` gives the bytes of pictures. ``silence``: seconds without a byte after which the provider counts as gone.
    Raises UserMistake where the protocol's SDK is not installed.
    """
    if is_scripted(target):
        from sojourn.models.scripted import Scripted

        return Scripted(limit=target.traits.limit)
    api = target.traits.protocol
    if not installed(api):
        raise UserMistake(
            f"{target.traits.name} needs the package {_SDKS[api]}, which is not installed",
            next_step='pip install "sojourn[agent]"',
        )
    client = importlib.import_module(f"sojourn.models.clients.{api}")
    return Retrying(client.Client(target, blobs, silence=silence))


def is_scripted(target: Target) -> bool:
    """Whether it is the embedded model, which needs no server."""
    return target.traits.provider == "sojourn" and target.traits.name == SCRIPTED


def installed(api: Api) -> bool:
    """Whether the SDK of a protocol is there; it is not imported."""
    try:
        return importlib.util.find_spec(_SDKS[api]) is not None
    except ModuleNotFoundError:  # not even the package around it
        return False
