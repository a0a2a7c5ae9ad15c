"""Why an answer ended, from the word that a provider has for it (A-1, A-2)."""

from sojourn.base import ErrorKind, Finish
from sojourn.wire import FinishEvent, ModelError

_LENGTH = frozenset({"max_tokens", "length", "max_output_tokens", "incomplete", "continuation"})
_REFUSED = frozenset({
    "refusal", "content_filter", "content-filter", "sensitive", "safety", "recitation", "blocklist", "prohibited_content",
    "spii", "image_safety", "image_prohibited_content", "image_recitation", "language", "escalation", "model_armor",
})  # fmt: skip
_FAILED = {
    "model_context_window_exceeded": (ErrorKind.CONTEXT_OVERFLOW, "the model's window is full"),
    "insufficient_system_resource": (ErrorKind.OVERLOADED, "the provider is overloaded"),
    "missing_thought_signature": (ErrorKind.MALFORMED_REQUEST, "the provider does not take the request"),
    "malformed_function_call": (ErrorKind.UNAVAILABLE, "the provider could not read the call that the model made"),
    "malformed_response": (ErrorKind.UNAVAILABLE, "the provider could not read what the model wrote"),
    "network_error": (ErrorKind.UNAVAILABLE, "the provider failed"),
    "error": (ErrorKind.UNAVAILABLE, "the provider failed"),
    "cancelled": (ErrorKind.UNAVAILABLE, "the provider gave up"),
}
_WORDING = "Another wording, or another model, may pass."


def is_length(word: str | None) -> bool:
    """Whether the answer was cut at the output limit."""
    return word is not None and word.lower() in _LENGTH


def ending(word: str | None, *, said: bool, called: bool, thought: bool, refusal: str = "") -> FinishEvent:
    """What the word means after an answer with text, calls or thinking in it. A word that nobody knows is a plain stop.

    ``refusal``: the model's own words where it refused in a field of its own. Raises ModelError: REFUSED,
    CONTEXT_OVERFLOW, OUTPUT_TRUNCATED (the limit was used up before the first word), and UNAVAILABLE, which is worth a
    repetition: no word at all (the stream broke off), or an answer with nothing in it.
    """
    if word is None:
        raise ModelError(ErrorKind.UNAVAILABLE, "the provider's answer broke off: it has no end")
    known = word.lower()
    if known in _REFUSED or (refusal and not called):
        reason = refusal or f"the provider's word is {word!r}"
        raise ModelError(ErrorKind.REFUSED, f"the model refused to answer: {reason}", next_step=_WORDING)
    if known in _FAILED:
        kind, message = _FAILED[known]
        raise ModelError(kind, f"{message} ({word})")
    if known in _LENGTH:
        if not (said or called or thought):
            raise ModelError(ErrorKind.OUTPUT_TRUNCATED, f"the output limit was used up before the first word ({word})")
        return FinishEvent(Finish.LENGTH, word)
    if not (said or called or thought):
        raise ModelError(ErrorKind.UNAVAILABLE, f"empty answer: no text and no call ({word})")
    return FinishEvent(Finish.TOOL_CALLS if called else Finish.STOP, word)
