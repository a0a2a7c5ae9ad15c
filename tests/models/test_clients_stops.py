"""The words for why an answer ended (A-1, A-2)."""

import pytest

from sojourn.base import ErrorKind, Finish
from sojourn.models.clients.stops import ending, is_length
from sojourn.wire import FinishEvent, ModelError

STOPS = ["end_turn", "stop_sequence", "stop", "completed", "STOP", "pause_turn", "OTHER", "eos", "something new", "tool_use"]
LENGTHS = ["max_tokens", "length", "MAX_TOKENS", "max_output_tokens", "incomplete", "CONTINUATION"]
REFUSALS = ["refusal", "content_filter", "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "sensitive"]
FAILURES = [
    ("model_context_window_exceeded", ErrorKind.CONTEXT_OVERFLOW),
    ("insufficient_system_resource", ErrorKind.OVERLOADED),
    ("MALFORMED_FUNCTION_CALL", ErrorKind.UNAVAILABLE),
    ("MALFORMED_RESPONSE", ErrorKind.UNAVAILABLE),
    ("MISSING_THOUGHT_SIGNATURE", ErrorKind.MALFORMED_REQUEST),
    ("network_error", ErrorKind.UNAVAILABLE),
    ("error", ErrorKind.UNAVAILABLE),
    ("cancelled", ErrorKind.UNAVAILABLE),
]


def error_of(word, *, said=True, called=False, thought=False, refusal=""):
    with pytest.raises(ModelError) as caught:
        ending(word, said=said, called=called, thought=thought, refusal=refusal)
    return caught.value


@pytest.mark.design("A-1")
@pytest.mark.parametrize("word", STOPS)
def test_a_stop_known_or_not(word):
    assert ending(word, said=True, called=False, thought=False) == FinishEvent(Finish.STOP, word)
    assert ending(word, said=False, called=True, thought=False) == FinishEvent(Finish.TOOL_CALLS, word)
    assert ending(word, said=False, called=False, thought=True) == FinishEvent(Finish.STOP, word)
    assert not is_length(word)


@pytest.mark.design("A-1", "A-8")
@pytest.mark.parametrize("word", LENGTHS)
def test_the_output_limit(word):
    for had in ({"said": True}, {"called": True}, {"thought": True}):
        flags = {"said": False, "called": False, "thought": False} | had
        assert ending(word, **flags) == FinishEvent(Finish.LENGTH, word)
    assert error_of(word, said=False).kind is ErrorKind.OUTPUT_TRUNCATED
    assert is_length(word)
    assert not is_length(None)


@pytest.mark.design("A-2")
@pytest.mark.parametrize("word", REFUSALS)
def test_refusals(word):
    for called in (False, True):
        error = error_of(word, called=called)
        assert error.kind is ErrorKind.REFUSED
        assert word in str(error)
        assert error.next_step


@pytest.mark.design("A-2")
@pytest.mark.parametrize(("word", "kind"), FAILURES)
def test_failures(word, kind):
    error = error_of(word, called=True)
    assert error.kind is kind
    assert word in str(error)


@pytest.mark.design("A-2")
def test_refusals_in_a_field_of_their_own():
    assert "No." in str(error_of("stop", said=False, refusal="No."))
    assert error_of("stop", said=True, refusal="No.").kind is ErrorKind.REFUSED
    assert ending("stop", said=False, called=True, thought=False, refusal="No.").finish is Finish.TOOL_CALLS


@pytest.mark.design("A-2")
def test_no_word_and_no_content():
    assert error_of(None).kind is ErrorKind.UNAVAILABLE
    assert "broke off" in str(error_of(None))
    assert error_of("stop", said=False).kind is ErrorKind.UNAVAILABLE
    assert "empty answer" in str(error_of("stop", said=False))
