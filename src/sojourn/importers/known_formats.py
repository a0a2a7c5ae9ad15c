"""Formats that are recognised by name so that a person is told which it is, and that it cannot be read yet."""

import re
from collections.abc import Callable

from sojourn.importers.outline import document, heads

_EVENT = re.compile(r"(session|user|assistant|tool|hook)\.[a-z_]+\Z")
_KIMI_ROLES = frozenset({"_system_prompt", "_checkpoint", "_usage"})
_KIMI_TYPES = frozenset({"turn.prompt", "context.append_message", "context.append_loop_event"})


def _qwen(sample: bytes) -> bool:
    tree = any("uuid" in head and "sessionId" in head for head in heads(sample))
    return tree and (re.search(rb'"message"\s*:\s*\{[^{}\[\]]*"parts"\s*:\s*\[', sample) is not None)


def _kimi(sample: bytes) -> bool:
    return any(
        (head.get("type") == "metadata" and "protocol_version" in head)
        or head.get("type") in _KIMI_TYPES
        or head.get("role") in _KIMI_ROLES
        for head in heads(sample)
    )


def _copilot(sample: bytes) -> bool:
    return any("data" in head and "parentId" in head and _EVENT.match(head.get("type", "")) for head in heads(sample))


def _swe_agent(sample: bytes) -> bool:
    _, head, _ = document(sample)
    return "trajectory" in head or ("history" in head and "environment" in head)


def _mini_swe_agent(sample: bytes) -> bool:
    kind, _, _ = document(sample)
    marks = (b"mswea_bash_command", b'"mini-swe-agent', b"COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT")
    return bool(kind) and any(mark in sample for mark in marks)


def _openhands(sample: bytes) -> bool:
    _, first, elements = document(sample)
    for head in (first, *elements, *heads(sample)):
        if "instance_id" in head and ("instruction" in head or "history" in head):
            return True
        if "source" in head and ("action" in head or "observation" in head or head.get("kind", "").endswith("Event")):
            return True
    return False


def _aider(sample: bytes) -> bool:
    return sample.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"# aider chat started at ")


def _opencode(sample: bytes) -> bool:
    _, head, elements = document(sample)
    exported = "info" in head and any("info" in element and "parts" in element for element in elements)
    return exported or "projectID" in head or ("sessionID" in head and "role" in head)


KNOWN: dict[str, tuple[str, Callable[[bytes], bool]]] = {
    "qwen": ("Qwen Code", _qwen),
    "kimi": ("Kimi", _kimi),
    "copilot": ("Copilot CLI", _copilot),
    "swe-agent": ("SWE-agent", _swe_agent),
    "mini-swe-agent": ("mini-SWE-agent", _mini_swe_agent),
    "openhands": ("OpenHands", _openhands),
    "aider": ("aider", _aider),
    "opencode": ("OpenCode", _opencode),
}
"""Name of the format, how people call it, what tells it."""


def known_format(sample: bytes) -> str:
    """How people call the format that the sample is of; ``""`` = none of these."""
    return next((label for label, tells in KNOWN.values() if tells(sample)), "")
