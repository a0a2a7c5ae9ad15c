"""What providers report of tokens, in disjoint fields; a field that a provider leaves out stays unknown (M-2)."""

from collections.abc import Mapping
from typing import Any

from sojourn.base import Usage

Said = Mapping[str, Any]


def anthropic_usage(said: Said) -> Usage | None:
    """Messages: ``input_tokens`` holds neither what was read from the cache nor what was written to it. None = no figures."""
    fresh, output = _count(said, "input_tokens"), _count(said, "output_tokens")
    if fresh is None and output is None:
        return None
    details = _inside(said, "output_tokens_details")
    return Usage(
        fresh=fresh or 0,
        cached=_count(said, "cache_read_input_tokens"),
        written=_count(said, "cache_creation_input_tokens"),
        output=output or 0,
        reasoning=_most(_count(details, "thinking_tokens"), _count(details, "reasoning_tokens")),
    )


def chat_usage(said: Said) -> Usage | None:
    """Chat Completions, with the names that compatible servers have for what was read from the cache. None = no figures."""
    prompt, output = _count(said, "prompt_tokens"), _count(said, "completion_tokens")
    if prompt is None and output is None:
        return None
    details = _inside(said, "prompt_tokens_details")
    cached = _most(
        _count(details, "cached_tokens"),
        _count(said, "prompt_cache_hit_tokens"),
        _count(said, "cached_tokens"),
        _count(said, "cache_read_input_tokens"),
    )
    written = _most(_count(details, "cache_write_tokens"), _count(said, "cache_creation_input_tokens"))
    reasoning = _count(_inside(said, "completion_tokens_details"), "reasoning_tokens")
    return _split(prompt or 0, output or 0, cached, written, reasoning, _count(said, "total_tokens"))


def responses_usage(said: Said) -> Usage | None:
    """Responses. None = no figures."""
    prompt, output = _count(said, "input_tokens"), _count(said, "output_tokens")
    if prompt is None and output is None:
        return None
    details = _inside(said, "input_tokens_details")
    cached, written = _count(details, "cached_tokens"), _count(details, "cache_write_tokens")
    reasoning = _count(_inside(said, "output_tokens_details"), "reasoning_tokens")
    return _split(prompt or 0, output or 0, cached, written, reasoning, _count(said, "total_tokens"))


def gemini_usage(said: Said) -> Usage | None:
    """generateContent: the prompt holds what was read from the cache, the candidates do not hold the thoughts."""
    prompt, output = _count(said, "promptTokenCount"), _count(said, "candidatesTokenCount")
    thoughts = _count(said, "thoughtsTokenCount")
    if prompt is None and output is None and thoughts is None:
        return None
    cached = _count(said, "cachedContentTokenCount")
    sent = (prompt or 0) + (_count(said, "toolUsePromptTokenCount") or 0)
    return Usage(max(0, sent - (cached or 0)), cached, None, (output or 0) + (thoughts or 0), thoughts)


def _split(
    prompt: int, output: int, cached: int | None, written: int | None, reasoning: int | None, total: int | None
) -> Usage:
    """Most servers count the cache inside the prompt and the reasoning inside the output, some do not. The total tells
    which; without one, what is bigger than its whole cannot be inside it."""
    from_cache, thought = (cached or 0) + (written or 0), reasoning or 0
    beyond = (total or 0) - prompt - output
    cache_outside = from_cache > prompt or beyond in (from_cache, from_cache + thought)
    thought_outside = thought > output or (beyond != from_cache and beyond in (thought, from_cache + thought))
    fresh = prompt if cache_outside else prompt - from_cache
    return Usage(fresh, cached, written, output + thought if thought_outside else output, reasoning)


def _inside(said: Said, name: str) -> Said:
    value = said.get(name)
    return value if isinstance(value, Mapping) else {}


def _count(said: Said, name: str) -> int | None:
    value = said.get(name)
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None


def _most(*counts: int | None) -> int | None:
    """Servers that say it twice say it once as 0."""
    return max((count for count in counts if count is not None), default=None)
