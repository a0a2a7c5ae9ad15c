"""From whatever an SDK raises to a ModelError (A-2), without an SDK."""

import socket

import msgspec
import pytest

from sojourn.base import ErrorKind
from sojourn.models.clients.failures import advised, failure, in_stream
from sojourn.models.errors import classify
from sojourn.models.types import Target
from sojourn.wire import ModelError, Traits


class Response:
    def __init__(self, status, text, **headers):
        self.status_code = status
        self.headers = headers
        self._text = text

    @property
    def text(self):
        if self._text is None:
            raise RuntimeError("not read")
        return self._text


class SdkError(Exception):
    def __init__(self, message="wrapped", **fields):
        super().__init__(message)
        self.__dict__.update(fields)


class ReadTimeout(Exception):
    pass


class ConnectTimeout(Exception):
    pass


class UnsupportedProtocol(Exception):
    pass


def caused(error, cause):
    error.__cause__ = cause
    return error


def silent(error):
    return str(failure(error, 120.0))


OVERFLOW = '{"error":{"code":"context_length_exceeded","message":"too long"}}'


@pytest.mark.design("A-2")
def test_a_model_error_stays_what_it_is():
    error = ModelError(ErrorKind.REFUSED, "no")
    assert failure(error, 1) is error


@pytest.mark.design("A-2")
def test_an_answer_with_a_status():
    error = failure(SdkError(response=Response(400, OVERFLOW)), 1)
    assert error.kind is ErrorKind.CONTEXT_OVERFLOW
    assert failure(SdkError(response=Response(429, "", **{"retry-after": "9"})), 1).retry_after == 9
    assert failure(SdkError(response=Response(302, "")), 1).kind is ErrorKind.AUTH_FAILED


@pytest.mark.design("A-2")
@pytest.mark.parametrize("field", ["body", "details"])
@pytest.mark.parametrize("inner", [False, True])
def test_an_answer_whose_text_was_let_go(field, inner):
    said = msgspec.json.decode(OVERFLOW)
    error = SdkError(response=Response(400, None), **{field: said["error"] if inner else said})
    assert failure(error, 1).kind is ErrorKind.CONTEXT_OVERFLOW
    text = SdkError(response=Response(400, None), **{field: "prompt is too long"})
    assert failure(text, 1).kind is ErrorKind.CONTEXT_OVERFLOW
    assert failure(SdkError("prompt is too long", response=Response(400, None)), 1).kind is ErrorKind.CONTEXT_OVERFLOW


@pytest.mark.design("A-2")
@pytest.mark.parametrize("status", [None, 200, 299])
def test_an_error_in_a_stream_has_no_status_of_its_own(status):
    response = Response(status, None) if status else None
    for said in ({"error": {"type": "overloaded_error", "message": "x"}}, {"type": "overloaded_error"}, "overloaded"):
        assert failure(SdkError(response=response, body=said), 1).kind is ErrorKind.OVERLOADED
    assert in_stream("overloaded").kind is ErrorKind.OVERLOADED
    assert in_stream({"error": {"type": "overloaded_error"}}).kind is ErrorKind.OVERLOADED


@pytest.mark.design("A-2")
def test_no_answer():
    assert silent(ReadTimeout()) == "no word from the provider for 120 s"
    assert silent(caused(SdkError("Request timed out."), ReadTimeout())) == "no word from the provider for 120 s"
    assert silent(caused(SdkError("Request timed out."), ConnectTimeout())) == "no connection to the provider within 10 s"
    lost = failure(caused(SdkError("Connection error."), ConnectionResetError("peer went away")), 1)
    assert lost.kind is ErrorKind.UNAVAILABLE
    assert "peer went away" in str(lost)
    nameless = failure(caused(SdkError("Connection error."), ConnectionResetError()), 1)
    assert "Connection error." in str(nameless)
    wrong = failure(caused(SdkError("Connection error."), UnsupportedProtocol("no http://")), 1)
    assert wrong.kind is ErrorKind.AUTH_FAILED
    assert "no http://" in str(wrong)


@pytest.mark.design("A-2")
def test_a_chain_that_was_not_named_and_one_that_bites_its_tail():
    try:
        try:
            raise ReadTimeout
        except ReadTimeout:
            raise SdkError  # noqa: B904
    except SdkError as error:
        assert "no word" in silent(error)
    one, two = SdkError("one"), SdkError("two")
    one.__cause__, two.__cause__ = two, one
    assert failure(one, 1).kind is ErrorKind.UNAVAILABLE


@pytest.mark.design("A-2")
def test_anything_else_is_an_answer_that_cannot_be_read():
    error = failure(ValueError("x" * 500), 1)
    assert error.kind is ErrorKind.UNAVAILABLE
    assert str(error).startswith("the provider's answer cannot be read (ValueError: xxx")
    assert len(str(error)) < 250


@pytest.mark.design("A-2", "A-3")
def test_nobody_there():
    refused = ConnectionRefusedError(111, "Connect call failed")
    error = failure(caused(SdkError("Connection error."), refused), 1, "http://box.example:8123/v1")
    assert (error.kind, error.attempts) == (ErrorKind.UNAVAILABLE, 3)
    assert str(error).startswith("the connection to the provider failed: nobody listens at box.example:8123 ([Errno 111] ")
    assert error.next_step == "Look whether the provider is up at box.example:8123, and check --base-url."
    several = caused(OSError("all failed"), ExceptionGroup("several", [OSError(101, "no route"), refused]))
    assert failure(caused(SdkError(), several), 1, "https://box.example").attempts == 3
    assert "box.example:443" in str(failure(caused(SdkError(), several), 1, "https://box.example"))
    assert "box.example:80" in str(failure(caused(SdkError(), several), 1, "http://box.example"))
    unknown = failure(
        caused(SdkError(), socket.gaierror(socket.EAI_NONAME, "Name or service not known")), 1, "http://nob.ody/v1"
    )
    assert unknown.attempts == 3
    assert "there is no host nob.ody (" in str(unknown)
    away = failure(caused(SdkError(), socket.gaierror(socket.EAI_AGAIN, "Temporary failure")), 1, "http://nob.ody/v1")
    assert away.attempts is None
    assert failure(caused(SdkError(), ConnectionResetError("peer went away")), 1, "http://nob.ody/v1").attempts is None


def target(key_from="--api-key", base_url="https://box.example/v1"):
    return Target(Traits(name="m", protocol="chat"), base_url, "sk-secret", key_from)


@pytest.mark.design("A-2")
def test_every_outage_says_what_to_try_and_where():
    for error in (failure(ReadTimeout(), 7, "https://box.example/v1"), failure(ConnectTimeout(), 7, "https://box.example/v1"),
                  failure(ValueError("x"), 7), ModelError(ErrorKind.UNAVAILABLE, "empty answer"),
                  ModelError(ErrorKind.OVERLOADED, "busy")):  # fmt: skip
        assert "box.example" in advised(error, target()).next_step
    assert "model.timeout" in failure(ReadTimeout(), 7).next_step
    assert "speaks chat (--api, --base-url)" in advised(ModelError(ErrorKind.UNAVAILABLE, "x"), target()).next_step
    assert "whether the provider is up" in advised(ModelError(ErrorKind.UNAVAILABLE, "x"), target(base_url="")).next_step
    assert advised(ModelError(ErrorKind.REFUSED, "x"), target()).next_step == ""
    assert advised(ModelError(ErrorKind.UNAVAILABLE, "x", next_step="Sleep."), target()).next_step == "Sleep."


@pytest.mark.design("A-2", "A-5")
@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_named_by_where_it_was_found(status):
    step = advised(classify(status=status, body=""), target("LAB_API_KEY")).next_step
    assert step.startswith("Check the key from LAB_API_KEY and what it may use; `sojourn models` tells where")
    assert "sk-secret" not in step
    for place in ("none needed", "none needed: server at http://127.0.0.1:1/v1"):
        assert advised(classify(status=status, body=""), target(place)).next_step == (
            "No key was given for it: give one with --api-key."
        )
