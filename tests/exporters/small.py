"""Messages and sessions as hypothesis draws them."""

from typing import Any

from hypothesis import strategies as st

from sojourn.base import Finish, Item, Section, Usage
from sojourn.record import (
    Block,
    Checkpoint,
    File,
    Image,
    Message,
    Notice,
    Reasoning,
    Reminder,
    Session,
    Source,
    TaskRow,
    Text,
    ToolCall,
    Touch,
    Trim,
    Undo,
    Window,
)

# Half surrogate pairs, NUL and odd line ends included: any text of a record comes back as it was.
TEXT = st.text(st.characters() | st.sampled_from("\ud800\udfff\u2028\u0085\0\r\n`<>"), max_size=12)
NUMBER = st.integers(0, 2**53)
SHA = st.sampled_from(["aa", "bb", "cc"])
TOKENS = st.dictionaries(st.sampled_from(["prose", "code"]), NUMBER, max_size=2)
IMAGE = st.builds(Image, blob=SHA, media_type=st.just("image/png"), size=NUMBER, pixels=st.none() | st.tuples(NUMBER, NUMBER))
FILE = st.builds(File, blob=SHA, media_type=st.just("text/plain"), size=NUMBER, excerpt=TEXT, tokens=TOKENS)
TEXT_PART = st.builds(Text, TEXT, TOKENS)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | TEXT, lambda inner: st.lists(inner, max_size=2), max_leaves=3
)
CALL = st.builds(
    ToolCall,
    call_id=st.sampled_from(["", "t1", "t1", "t|2 ü"]),
    name=st.sampled_from(["read", "mcp.x y"]),
    arguments=st.dictionaries(TEXT, JSON, max_size=2),
    raw_arguments=st.sampled_from(["", "", "not json"]),
    state=st.sampled_from(["pending", "running", "completed", "error", "interrupted"]),
    result=st.lists(TEXT_PART | IMAGE | FILE, max_size=2).map(tuple),
    started=st.none() | NUMBER,
    touches=st.just(()) | st.just((Touch("a", "read", (1, 2)),)),
)
PART: st.SearchStrategy[Any] = st.one_of(
    TEXT_PART,
    CALL,
    IMAGE,
    FILE,
    st.builds(Reasoning, TEXT, provider=st.sampled_from(["", "anthropic"]), signature=TEXT, redacted=TEXT),
    st.builds(Reminder, source=TEXT, body=TEXT),
    st.builds(Notice, kind=TEXT, text=TEXT),
)
MESSAGE = st.builds(
    Message,
    id=st.uuids().map(str),
    role=st.sampled_from(["user", "assistant"]),
    origin=st.sampled_from(["user", "engine", "model", "import"]),
    parts=st.lists(PART, max_size=3).map(tuple),
    seq=NUMBER,
    created=NUMBER,
    source=st.sampled_from(["", "system", "summary"]),
    finish=st.none() | st.sampled_from(list(Finish)),
    usage=st.none() | st.builds(Usage, fresh=NUMBER, cached=st.none() | NUMBER),
)
SESSION = st.builds(
    Session, id=st.just("ses_1"), title=TEXT, created=st.integers(0, 2**41), model=st.just("m"), plan_seq=st.integers(0, 9)
)
ITEM = Item("i1", Section.NEXT, "text", (1, 2))
WINDOW = Window(
    "w1", 1, "rebuild", 5, 9, 12, opening=(Block("label", "text \u2028", 3, (1,)),), items=(ITEM,), trims=(Trim(3, 0, 10, 5),),
    measured={"growth": 1.5}, files=("a.py",),
)  # fmt: skip
CHECKPOINT = Checkpoint(
    "c1", 5, (ITEM,), "sha", "model", (0, 5), mode="fork", calls=("call_1",), added=("i1",), closed=("i2",), checked=("i3",),
    promoted=("i4",), notes=("ff",),
)  # fmt: skip
TASK = TaskRow("T1.1", "half \ud83d \u2028", "blocked", "T1", "ses_2", "wait", 3, 4, 5)
UNDO = Undo("u1", "turn", 3, 9)
SOURCE = Source("codex", "x", 3, 400, "ff")
BLOBS = {"aa": b"\x89PNG\0\xff", "bb": b""}


def user(text: str, **fields: Any) -> Message:
    return Message(fields.pop("id", "u"), "user", fields.pop("origin", "user"), (Text(text),), **fields)


def answer(*parts: Any, **fields: Any) -> Message:
    return Message("a", "assistant", fields.pop("origin", "model"), parts, **fields)
