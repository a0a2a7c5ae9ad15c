"""``sojourn run`` with its real clients against the strict provider: bad input, outages, interrupts, two at once (S-1)."""

import base64
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from provider.pieces import png
from provider.server import Call, Fault, Provider, Reply
from sojourn.models.connect import connect
from sojourn.models.types import Api, Blobs, Target
from sojourn.wire import Model
from surfaces.running import Command, Ran, in_own_process, started

pytestmark = pytest.mark.design("S-1", "A-1", "A-2", "A-3")

APIS: list[Api] = ["anthropic", "chat"]
KEY = "test-key"
WRONG = "sk-wrong-9f31c2"
_KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL")


@pytest.fixture(autouse=True)
def nobody_there(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No keys in the environment, nobody at a terminal; repetitions wait a hundredth, silence is over after a fifth of a
    second."""
    for name in _KEYS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sojourn.models.retry._FIRST", 0.01)

    def impatient(target: Target, blobs: Blobs, *, silence: float) -> Model:
        return connect(target, blobs, silence=silence / 600)

    monkeypatch.setattr("sojourn.models.connect.connect", impatient)
    with open(os.devnull) as nobody:
        monkeypatch.setattr("sys.stdin", nobody)
        yield


def options(provider: Provider, api: Api, key: str = KEY, model: str = "test-model") -> list[str]:
    return ["--api", api, "--base-url", provider.base_url(api), "--api-key", key, "--model", model]


def clean(done: Ran, *keys: str) -> None:
    """No traceback, no key, and JSON that is one object a line."""
    for text in (done.out, done.err):
        assert "Traceback" not in text
        for key in (KEY, WRONG, *keys):
            assert key not in text


def rows(done: Ran) -> list[Any]:
    found = done.rows
    assert all(isinstance(row, dict) and row["type"] for row in found)
    return found


def goes_on(sojourn: Command, provider: Provider, api: Api) -> Ran:
    """A healthy provider: the session answers."""
    provider._faults.clear()
    provider._script.clear()  # type: ignore[union-attr]
    provider.then("All is well.")
    done = sojourn("run", "--continue", *options(provider, api), "go on")
    assert (done.code, done.out) == (0, "All is well.\n"), done.err
    assert "(continued)" in done.err
    clean(done)
    assert provider.requests[-1].ok
    return done


# --- what the provider does ------------------------------------------------------------------------------------------

FAULTS = [
    (Fault("401"), "key"),
    (Fault("403"), "permission|not allowed"),
    (Fault("404"), "test-model"),
    (Fault("quota"), "credit|quota"),
    (Fault("413"), "stopped"),
    (Fault("hang"), r"no word from the provider for 0\.2 s"),
    (Fault("hang mid"), r"no word from the provider for 0\.2 s"),
    (Fault("close"), "asked 6 times"),
    (Fault("cut", after=3), "asked 6 times"),
    (Fault("bad event"), "asked 6 times"),
    (Fault("bad json"), "asked 6 times"),
    (Fault("empty"), "asked 6 times"),
    (Fault("502 html"), "asked 6 times"),
    (Fault("stream error"), "asked 6 times"),
    (Fault("529"), "asked 6 times"),
    (Fault("429", retry_after=7_200), "2 h 0 min"),
]


@pytest.mark.parametrize(("fault", "said"), FAULTS, ids=lambda value: value.kind if isinstance(value, Fault) else "")
@pytest.mark.parametrize("api", APIS)
def test_a_provider_that_fails_for_good(api: Api, fault: Fault, said: str, sojourn: Command) -> None:
    with Provider(["Never heard."]) as provider:
        provider.fail_next(20, fault)
        done = sojourn("run", "--json", *options(provider, api), "hello")
        assert done.code == 1, done.err
        clean(done)
        told = rows(done)
        assert [told[0]["type"], told[-1]["type"]] == ["session", "end"]
        assert told[-1]["finish"] == "error"
        assert told[-1]["error"]
        assert told[-1]["next_step"]
        if fault.kind in ("hang", "hang mid", "bad event", "bad json", "empty"):
            assert "127.0.0.1" in told[-1]["next_step"]
        assert re.search(said, told[-1]["error"], re.IGNORECASE), told[-1]["error"]
        assert told[-1]["error"] in done.err
        assert told[-1]["next_step"] in done.err
        assert len([row for row in told if row["type"] == "retry"]) in ((5,) if "asked" in said or "no word" in said else (0,))
        goes_on(sojourn, provider, api)


@pytest.mark.design("S-9")
@pytest.mark.parametrize("api", APIS)
def test_how_long_silence_lasts_is_a_setting(api: Api, home: Path, sojourn: Command) -> None:
    (home / "config").mkdir(parents=True)
    (home / "config" / "config.toml").write_text("[model]\ntimeout = 300\n")
    with Provider(["Heard."]) as provider:
        provider.fail_next(1, "hang")
        done = sojourn("run", "--json", *options(provider, api), "hello")
        assert done.code == 0, done.err
        (told,) = [row for row in rows(done) if row["type"] == "retry"]
        assert "no word from the provider for 0.5 s" in json.dumps(told)


@pytest.mark.design("C-10")
@pytest.mark.parametrize("api", APIS)
def test_a_stop_says_what_the_provider_said(api: Api, sojourn: Command) -> None:
    with Provider(["Never heard."]) as provider:
        provider.fail_next(20, "413")
        done = sojourn("run", "--json", *options(provider, api), "hello")
        error = rows(done)[-1]["error"]
        assert re.search("too large|maximum size", error, re.IGNORECASE), error
        assert f"{len(provider.requests)} request" in error, "as many as left"


@pytest.mark.parametrize("api", APIS)
def test_a_wrong_key_is_not_shown(api: Api, sojourn: Command) -> None:
    with Provider([]) as provider:
        done = sojourn("run", *options(provider, api, WRONG), "hello")
        assert done.code == 1
        clean(done)
        assert "key" in done.err
        assert "the key from --api-key" in done.err
        assert "`sojourn models` tells where" in done.err
        goes_on(sojourn, provider, api)


@pytest.mark.parametrize(
    ("model", "variable"), [("anthropic/claude-sonnet-5-5", "ANTHROPIC_API_KEY"), ("openai/gpt-6.1-sol", "OPENAI_API_KEY")]
)
def test_no_key_names_the_variable(model: str, variable: str, sojourn: Command) -> None:
    done = sojourn("run", "--model", model, "hello")
    assert done.code == 2
    assert variable in done.err
    assert "--api-key" in done.err
    assert done.out == ""
    clean(done)


class _Page(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        page = b"<!doctype html><html><body>Welcome to the intranet</body></html>"
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def do_GET(self) -> None:
        self.send_error(404)

    def log_message(self, format: str, *args: object) -> None:
        del format, args


@pytest.fixture
def intranet() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), _Page)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


ADDRESSES = {
    "refused port": r"connection to the provider failed: nobody listens at 127\.0\.0\.1:\d+ .*asked 3 times\)"
    r"\n  Look whether the provider is up at 127",
    "page": r"no such service at this address: it answers with text/html.*\n  Check --base-url .*http://127\.0\.0\.1:\d+/",
    "other path": "no such service at this address: .*\n  Check --base-url",
    "no address": "--base-url 'localhost:99999999' is no address of a server\n  An address begins with http://",
    "no host": r"connection to the provider failed: there is no host host\.invalid .*asked 3 times\)"
    r"\n  Look whether the provider is up at host\.invalid:80",
}


@pytest.mark.parametrize("api", APIS)
def test_a_web_page_is_told_as_such(api: Api, sojourn: Command, intranet: str) -> None:
    done = sojourn("run", "--api", api, "--base-url", intranet, "--api-key", KEY, "--model", "test-model", "hello")
    assert done.code == 1
    assert "--base-url" in done.err
    assert "asked" not in done.err.replace("What was asked is", "")


@pytest.mark.parametrize("where", sorted(ADDRESSES))
@pytest.mark.parametrize("api", APIS)
def test_a_wrong_address_is_named(api: Api, where: str, sojourn: Command, intranet: str) -> None:
    with Provider([]) as provider, socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = {
            "refused port": f"http://127.0.0.1:{taken.getsockname()[1]}/v1",
            "page": intranet,
            "other path": provider.url + "/elsewhere",
            "no address": "localhost:99999999",
            "no host": "http://host.invalid/v1",
        }[where]
        done = sojourn("run", "--api", api, "--base-url", url, "--api-key", KEY, "--model", "test-model", "hello")
        assert done.code in ((2,) if where == "no address" else (1,)), done.err
        clean(done)
        assert re.search(ADDRESSES[where], done.err), done.err
        if where != "no address":
            goes_on(sojourn, provider, api)


# --- what the model does -----------------------------------------------------------------------------------------------

LONG_STOP = [Reply(f"part {n} ", finish="length") for n in range(4)]
ODD = [
    ("length", LONG_STOP, 3),
    ("empty", [Reply("")] * 6, 1),
    ("unknown stop", [Reply("I stop here.", finish="sunspots")], None),
    ("refusal", [Reply("I will not.", finish="refusal")], None),
    ("broken call", [Reply("", calls=[Call("read", '{"path": "a')]), "Done."], 0),
    ("call of nothing", [Reply("", calls=[Call("nothing_like_it", {"a": 1})]), "Done."], 0),
]


@pytest.mark.design("A-6", "A-8")
@pytest.mark.parametrize(("what", "script", "code"), ODD, ids=[row[0] for row in ODD])
@pytest.mark.parametrize("api", APIS)
def test_a_model_that_answers_oddly(api: Api, what: str, script: list[Any], code: int | None, sojourn: Command) -> None:
    with Provider([*script]) as provider:
        done = sojourn("run", "--json", *options(provider, api), "hello")
        clean(done)
        told = rows(done)
        assert told[-1]["type"] == "end"
        assert done.code == (code if code is not None else done.code)
        assert done.code in (0, 1, 3)
        if done.code == 1:
            assert told[-1]["error"]
            assert told[-1]["next_step"]
            assert told[-1]["error"] in done.err
        if done.code == 3:
            assert len(done.err.strip().splitlines()) >= 2
        if what == "unknown stop":
            assert "I stop here." in "".join(row.get("text", "") for row in told if row["type"] == "text")
        goes_on(sojourn, provider, api)


@pytest.mark.design("Q-3")
@pytest.mark.report(122)
@pytest.mark.parametrize(("api", "model"), [("anthropic", "claude-sonnet-5-5"), ("chat", "test-vision")])
def test_twenty_five_pictures_one_of_them_too_large(api: Api, model: str, sojourn: Command) -> None:
    for number in range(23):
        Path(f"p{number}.png").write_bytes(base64.b64decode(png(40 + number, 30)))
    out = BytesIO()
    Image.new("RGB", (2_100, 40)).save(out, "PNG")
    Path("p23.png").write_bytes(out.getvalue())
    Path("p24.png").write_bytes(base64.b64decode(png(9_500, 9_500)))
    calls = [Call("read", {"path": f"p{number}.png"}) for number in range(25)]
    with Provider([Reply("", calls=calls), "I see."]) as provider:
        done = sojourn("run", "--json", "--trust", *options(provider, api, model=model), "look")
        assert done.code == 0, done.err
        clean(done)
        results = [row for row in rows(done) if row["type"] == "result"]
        assert [row["state"] for row in results] == ["completed"] * 24 + ["error"]
        assert "p24.png has 9500x9500 pixels" in results[-1]["text"]
        assert [seen.problems for seen in provider.requests if seen.problems] == []
        kind = '"type": "image"' if api == "anthropic" else '"image_url": {'
        assert json.dumps(provider.requests[-1].body).count(kind) == 24
        provider.then("Still.")
        again = sojourn("run", "--continue", *options(provider, api, model=model), "and?")
        assert again.code == 0, again.err
        assert [seen.problems for seen in provider.requests if seen.problems] == []


# --- processes -------------------------------------------------------------------------------------------------------


def wait_for(what: Callable[[], bool], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


@pytest.mark.design("R-12", "T-4")
@pytest.mark.parametrize(
    ("api", "where"),
    [(api, where) for api in APIS for where in ("stream", "tool")]
    + [("anthropic", "waiting to repeat"), ("chat", "before the head")],
)
def test_ctrl_c_and_on(api: Api, where: str, home: Path, sojourn: Command) -> None:
    with Provider([]) as provider:
        slow = Call("bash", {"command": "touch begun; sleep 30; touch ended"})
        match where:
            case "stream":
                provider.then(Reply("I begin to say", pieces=3, fault=Fault("hang mid", after=5)))
            case "tool":
                provider.then(Reply("I work.", calls=[slow]))
            case "before the head":
                provider.fail_next(1, "hang")
            case _:
                provider.fail_next(1, "429", retry_after=100)
        process = started(
            home, "run", "--json", "--trust", "--mode", "full", *options(provider, api), "work", stdin=subprocess.DEVNULL
        )
        if where == "tool":
            wait_for(Path("begun").exists)
        else:
            provider.wait(1, 30)
            wait_for(lambda: provider.requests[0].status != 0 or where == "before the head")
            time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        done = Ran(process.returncode, out.decode(), err.decode())
        assert done.code == 130, done.err
        clean(done)
        told = rows(done)
        assert (told[-1]["type"], told[-1]["finish"]) == ("end", "interrupted")
        assert "--continue" in done.err
        assert not Path("ended").exists()
        goes_on(sojourn, provider, api)
        sent = provider.requests[-1]
        if where == "stream":
            assert "I be" in sent.said("assistant")
        if where == "tool":
            assert "interrupted: outcome unknown" in sent.raw.decode()


@pytest.mark.design("R-11")
def test_two_at_once_one_is_told(home: Path, sojourn: Command) -> None:
    with Provider(["Hello."]) as provider:
        assert sojourn("run", *options(provider, "chat"), "hello").code == 0
        provider.then(Reply("Slowly", pieces=2, fault=Fault("hang mid")))
        first = started(home, "run", "--continue", *options(provider, "chat"), "one", stdin=subprocess.DEVNULL)
        provider.wait(2, 30)
        second = sojourn("run", "--continue", "--json", *options(provider, "chat"), "two")
        assert second.code != 0
        assert second.out == ""
        assert f"process {first.pid}" in second.err
        assert len(second.err.strip().splitlines()) >= 2
        clean(second)
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=30)
        assert first.returncode == 130
        goes_on(sojourn, provider, "chat")


@pytest.mark.parametrize("api", APIS)
def test_a_whole_day_in_processes_of_their_own(api: Api, home: Path) -> None:
    Path("a.txt").write_text("seven\n")
    with Provider([Reply("I look.", calls=[Call("read", {"path": "a.txt"})]), "Seven.", "Still seven."]) as provider:
        provider.fail_next(1, "529")
        environ = {"ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY}
        first = in_own_process(
            home, "run", "--json", *options(provider, api), "what?", stdin=subprocess.DEVNULL, environ=environ
        )
        assert first.code == 0, first.err
        told = rows(first)
        assert [row["type"] for row in told].count("retry") == 1
        assert told[-1]["text"] == "Seven."
        second = in_own_process(home, "run", "--continue", *options(provider, api), "sure?", stdin=subprocess.DEVNULL)
        assert (second.code, second.out) == (0, "Still seven.\n"), second.err
        assert provider.breaks() == []
        assert [seen.problems for seen in provider.requests if seen.problems] == []
        for done in (first, second):
            clean(done)
