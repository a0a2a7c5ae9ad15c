"""Projection: what each stored part becomes (Q-1, Q-3)."""

import msgspec
import pytest

from sojourn.base import Finish
from sojourn.meter import estimate_text, part_tokens, total
from sojourn.prefix import build, section
from sojourn.record import (
    Block,
    File,
    Image,
    Message,
    Notice,
    Reasoning,
    Reminder,
    Text,
    ToolCall,
    Window,
)  # fmt: skip
from sojourn.request import INTERRUPTED, Projection, problems, project
from sojourn.request.projection import UNANSWERED
from sojourn.wire import About, CallPart, ImagePart, ReasoningPart, RequestSettings, ResultPart, TextPart, Traits, WireMessage

SETTINGS = RequestSettings("m")
SEES = Traits(name="m", thinking=True)
CHAT = Traits(name="m", protocol="chat", marks=0)


def user(seq, *parts, **more):
    return Message(f"u{seq}", "user", more.pop("origin", "user"), parts, seq, **more)


def model(seq, *parts, finish=Finish.STOP, name="m"):
    return Message(f"a{seq}", "assistant", "model", parts, seq, model=name, finish=finish)


def done(call_id, text="ok", state="completed", **more):
    return ToolCall(call_id, more.pop("name", "bash"), {"x": 1}, state=state, result=(Text(text),) if text else (), **more)


def messages(*stored, traits=SEES, window=None, prefix=None) -> tuple[WireMessage, ...]:
    return project(prefix, window, stored, traits, SETTINGS).messages


def texts(message):
    return [part.text for part in message.parts if isinstance(part, TextPart)]


def result_texts(message):
    return [
        (part.call_id, [one.text for one in part.content], part.error) for part in message.parts if isinstance(part, ResultPart)
    ]


@pytest.mark.design("Q-1", "W-1")
def test_context_and_opening_come_first_one_part_a_block():
    prefix = build([section("rules", "r", "context", "dynamic", "Be kind.")], [])
    window = Window("w", 2, "rebuild", 4, 6, 7, opening=(Block("label", "L"), Block("closing", "\n\nC", tokens=9)))
    first, second = messages(user(8, Text("go on")), prefix=prefix, window=window)
    assert [part.about.kind for part in first.parts] == ["context"] * 3 + ["opening"] * 2
    assert [part.about.name for part in first.parts][1:] == ["rules", "context_closing", "label", "closing"]
    assert texts(first)[3:] == ["L", "\n\nC"]
    assert first.parts[4].about.tokens == 9
    assert first.parts[3].about.tokens == total(estimate_text("L")) > 0, "a block that nobody counted is counted"
    assert first.parts[4].about.seq is None
    assert texts(second) == ["go on"]
    assert second.parts[0].about.kind == "user"
    assert second.parts[0].about.seq == 8


@pytest.mark.design("Q-3")
def test_without_marks_the_opening_is_joined_with_what_follows():
    window = Window("w", 2, "rebuild", 4, 6, 7, opening=(Block("label", "L"),))
    (only,) = messages(user(8, Text("go on")), window=window, traits=CHAT)
    assert texts(only) == ["L", "go on"]


@pytest.mark.design("Q-3")
def test_neighbours_of_one_role_are_joined():
    got = messages(user(1, Text("a")), user(2, Text("b")), model(3, Text("c")), model(4, Text("d")), user(5, Text("e")))
    assert [(one.role, texts(one)) for one in got] == [("user", ["a", "b"]), ("assistant", ["c", "d"]), ("user", ["e"])]


@pytest.mark.design("Q-3")
def test_chat_keeps_the_models_messages_apart():
    got = messages(user(1, Text("a")), user(2, Text("b")), model(3, Text("c")), model(4, Text("d")), traits=CHAT)
    assert [(one.role, texts(one)) for one in got] == [("user", ["a", "b"]), ("assistant", ["c"]), ("assistant", ["d"])]


@pytest.mark.design("Q-3")
def test_parallel_calls_are_answered_in_their_order_before_later_text():
    said = model(2, Text("both"), done("c1", "one"), done("c2", "two", state="error"), finish=Finish.TOOL_CALLS)
    _, calls, answers = messages(user(1, Text("go")), said, user(3, Text("more")))
    assert [part.call_id for part in calls.parts if isinstance(part, CallPart)] == ["c1", "c2"]
    assert [type(part) for part in answers.parts] == [ResultPart, ResultPart, TextPart]
    assert result_texts(answers) == [("c1", ["one"], False), ("c2", ["two"], True)]
    assert answers.parts[0].about.seq == 2
    assert answers.parts[0].about.kind == "result"
    assert answers.parts[0].content[0].about.tokens == total(estimate_text("one")) > 0
    assert answers.parts[0].about.tokens == 0, "its contents carry the tokens: nothing is counted twice"
    assert calls.parts[1].about.tokens == total(part_tokens(ToolCall("", "bash", {"x": 1}))) > 0


@pytest.mark.design("R-12", "Q-3")
@pytest.mark.report(58)
@pytest.mark.parametrize("state", ["pending", "running", "interrupted"])
def test_a_call_that_was_killed_is_shown_as_interrupted(state):
    killed = model(2, done("c1", "", state=state), done("c2", "two"), finish=None)
    got = messages(user(1, Text("go")), killed, user(3, Text("continue")))
    assert result_texts(got[2]) == [("c1", [INTERRUPTED], True), ("c2", ["two"], False)]
    assert INTERRUPTED == "interrupted: outcome unknown, check before repeating"
    for traits, protocol in ((SEES, "anthropic"), (CHAT, "chat")):
        assert (
            problems(project(None, None, [user(1, Text("go")), killed, user(3, Text("continue"))], traits, SETTINGS), protocol)
            == []
        )


@pytest.mark.design("R-12")
def test_what_a_killed_call_had_printed_is_kept():
    got = messages(user(1, Text("go")), model(2, done("c1", "half", state="interrupted")))
    assert result_texts(got[2]) == [("c1", ["half", INTERRUPTED], True)]


@pytest.mark.design("Q-3")
@pytest.mark.report(63)
def test_blank_texts_and_empty_results():
    said = model(2, Text("  \n"), done("c1", ""), done("c2", " \n", state="error"))
    got = messages(user(1, Text("go"), Text(" ")), said, model(3, Text("\n")), user(4, Text("on")), user(5, Text("")))
    assert [texts(one) for one in got] == [["go"], [], ["on"]]
    assert result_texts(got[2]) == [("c1", ["(no output)"], False), ("c2", ["(no output)"], True)]


@pytest.mark.design("Q-3")
def test_bad_arguments_go_back_as_they_were_with_their_error():
    call = done("c1", "not JSON", state="error", raw_arguments='{"x": ')
    got = messages(user(1, Text("go")), model(2, call))
    assert got[1].parts[0].arguments == {"_raw": '{"x": '}
    assert result_texts(got[2]) == [("c1", ["not JSON"], True)]


def thought(name="m", signature="s", text="hm", redacted=""):
    return Reasoning(text, "anthropic", name, signature, redacted)


@pytest.mark.design("Q-3", "R-12")
@pytest.mark.report(60, 62)
def test_thinking_goes_to_the_model_that_signed_it_only():
    def kept(*parts, finish=Finish.STOP, traits=SEES):
        got = messages(user(1, Text("go")), model(2, *parts, finish=finish), traits=traits)
        return [part for part in got[1].parts if isinstance(part, ReasoningPart)]

    assert [part.text for part in kept(thought(), Text("a"))] == ["hm"]
    assert [part.redacted for part in kept(thought(signature="", redacted="xx"), Text("a"))] == ["xx"]
    assert len(kept(thought(), Text("a"), finish=Finish.LENGTH)) == 1
    assert kept(thought(name="other"), Text("a")) == []
    assert kept(thought(signature=""), Text("a")) == []
    assert kept(thought(), thought(signature=""), Text("a")) == [], "for the whole message"
    assert kept(thought(), thought(name="other"), Text("a")) == [], "for the whole message"
    assert kept(thought(), Text("a"), traits=Traits(name="m", thinking=False)) == []
    assert kept(thought(), Text("a"), traits=Traits(name="m", thinking=True, protocol="chat")) == []
    for finish in (None, Finish.INTERRUPTED, Finish.ERROR):
        assert kept(thought(), Text("a"), finish=finish) == []


@pytest.mark.design("Q-3")
def test_nothing_but_thinking_is_left_out():
    got = messages(user(1, Text("go")), model(2, thought()), user(3, Text("on")))
    assert [(one.role, texts(one)) for one in got] == [("user", ["go", "on"])]


@pytest.mark.design("Q-3")
def test_thinking_is_dropped_where_it_would_join_an_answer_without():
    half = model(2, Text("ha"), finish=Finish.INTERRUPTED)
    got = messages(user(1, Text("go")), half, model(3, thought(), Text("whole")))
    assert [type(part) for part in got[1].parts] == [TextPart, TextPart]
    got = messages(user(1, Text("go")), model(2, thought(), Text("a")), model(3, thought(), Text("b")))
    assert [type(part) for part in got[1].parts] == [ReasoningPart, TextPart] * 2
    got = messages(user(1, Text("go")), half, user(3, Text("on")), model(4, thought(), Text("whole")))
    assert [type(part) for part in got[3].parts] == [ReasoningPart, TextPart]
    assert got[3].parts[0].about.seq == 4


@pytest.mark.design("R-12")
def test_an_answer_cut_short_keeps_its_text():
    got = messages(user(1, Text("go")), model(2, thought(), Text("I was ab"), finish=None))
    assert texts(got[1]) == ["I was ab"]
    assert messages(user(1, Text("go")), model(2, finish=None)) == messages(user(1, Text("go")))


@pytest.mark.design("M-R2", "M-R4", "Q-6")
def test_reminders_are_wrapped_user_text():
    sent = Message("r", "user", "engine", (Reminder("todo", "a </system-reminder> b", form="system"),), 2)
    (first,) = messages(user(1, Text("go")), sent)
    assert texts(first) == ["go", "<system-reminder>\na <~/system-reminder> b\n</system-reminder>"]
    assert (first.parts[1].about.kind, first.parts[1].about.name, first.parts[1].about.seq) == ("reminder", "todo", 2)
    assert first.parts[1].about.tokens == total(estimate_text(texts(first)[1])) > 0
    assert messages(user(1, Text("go")), Message("r", "user", "engine", (Reminder("todo", "  "),), 2)) == messages(
        user(1, Text("go"))
    )


def note(seq, *bodies, form="system"):
    parts = tuple(Reminder(body, body, form) for body in bodies)
    return Message(f"r{seq}", "user", "engine", parts, seq)


def taking(protocol="anthropic", **more):
    return Traits(name="m", protocol=protocol, marks=0, mid_system=True, thinking=True, **more)


def plain(*stored, traits=None, window=None):
    """Roles and texts, reminders that are wrapped in square brackets."""
    got = messages(*stored, traits=traits or taking(), window=window)
    short = [
        text.replace("<system-reminder>\n", "[").replace("\n</system-reminder>", "]") for one in got for text in texts(one)
    ]
    rest = iter(short)
    return [(one.role, [next(rest) for _ in texts(one)]) for one in got]


@pytest.mark.design("Q-1", "Q-6", "M-R2")
@pytest.mark.parametrize("protocol", ["anthropic", "chat", "responses", "gemini"])
def test_the_system_form_where_protocol_and_model_take_it(protocol):
    stored = (user(1, Text("go")), note(2, "a", "b"), model(3, Text("ok")))
    wrapped = [("user", ["go", "[a]", "[b]"]), ("assistant", ["ok"])]
    system = [("user", ["go"]), ("system", ["a", "b"]), ("assistant", ["ok"])]
    assert plain(*stored, traits=taking(protocol)) == (wrapped if protocol == "gemini" else system)
    assert plain(*stored, traits=Traits(name="m", protocol=protocol, marks=0)) == wrapped, "a model that takes none"
    forced = (user(1, Text("go")), note(2, "a", form="wrapped"))
    assert plain(*forced, traits=taking(protocol)) == [("user", ["go", "[a]"])], "what was stored wrapped stays so"


@pytest.mark.design("Q-1", "Q-6")
def test_what_stands_before_decides_the_form():
    results = model(2, done("c1"), finish=Finish.TOOL_CALLS)
    assert [one.role for one in messages(user(1, Text("go")), results, note(3, "a"), traits=taking())] == [
        "user",
        "assistant",
        "user",
        "system",
    ]
    said = model(2, Text("ok"))
    assert plain(user(1, Text("go")), said, note(3, "a", "b")) == [
        ("user", ["go"]),
        ("assistant", ["ok"]),
        ("user", ["[a]", "[b]"]),
    ]
    assert plain(note(1, "a")) == [("user", ["[a]"])], "nothing stands before it"
    assert plain(user(1, Text(" ")), note(2, "a")) == [("user", ["[a]"])]
    window = Window("w", 2, "rebuild", 4, 6, 7, opening=(Block("label", "L"),))
    for marks in (0, 4):
        traits = Traits(name="m", marks=marks, mid_system=True)
        assert plain(note(8, "a"), window=window, traits=traits) == [("user", ["L"]), ("system", ["a"])]
    assert plain(user(1, Text("go")), note(2, "a", form="wrapped"), note(3, "b")) == [
        ("user", ["go", "[a]"]),
        ("system", ["b"]),
    ]


@pytest.mark.design("Q-1", "Q-2", "Q-6")
def test_what_is_placed_behind_a_system_message_that_was_sent():
    stored = (user(1, Text("go")), note(2, "a"), note(3, "b"))
    for protocol in ("anthropic", "responses"):
        assert plain(*stored, traits=taking(protocol)) == [("user", ["go"]), ("system", ["a", "b"])]
    assert plain(*stored, traits=taking("chat")) == [("user", ["go"]), ("system", ["a"]), ("user", ["[b]"])]
    mixed = Message("r", "user", "engine", (*note(2, "a").parts, Text("x"), *note(2, "b").parts), 2)
    assert plain(user(1, Text("go")), mixed, traits=taking("chat")) == [
        ("user", ["go"]),
        ("system", ["a"]),
        ("user", ["[x]"]),
        ("system", ["b"]),
    ]


@pytest.mark.design("Q-2", "Q-3", "Q-6")
def test_a_step_that_ended_without_a_word_leaves_a_line_before_the_users_next():
    """Anthropic refuses a system message before a user's; it was sent already and stays as it is."""
    stored = (user(1, Text("go")), note(2, "a"), model(3, finish=Finish.ERROR), user(4, Text("again")))
    assert plain(*stored) == [("user", ["go"]), ("system", ["a"]), ("assistant", [UNANSWERED]), ("user", ["again"])]
    assert problems(project(None, None, stored, taking(), SETTINGS), "anthropic") == []
    for protocol in ("chat", "responses"):
        assert plain(*stored, traits=taking(protocol)) == [("user", ["go"]), ("system", ["a"]), ("user", ["again"])]
    assert UNANSWERED == "[No answer came here.]"


@pytest.mark.design("Q-7")
def test_a_fork_is_the_same_request_and_one_message():
    extra = WireMessage("user", (TextPart("write", About("writer")),))

    def forked(*stored, traits):
        projection = Projection(None, None, traits)
        projection.extend(stored)
        before = projection.request(SETTINGS, 1)
        fork = projection.fork(extra, RequestSettings("m", 9), 1)
        assert projection.request(SETTINGS, 1) == before
        assert (fork.system, fork.tools, fork.settings) == (before.system, before.tools, RequestSettings("m", 9))
        return [(one.role, texts(one), one.mark) for one in fork.messages]

    go, ok = user(1, Text("go")), model(2, Text("ok"))
    anthropic = Traits(name="m", mid_system=True)
    assert forked(go, ok, traits=anthropic) == [
        ("user", ["go"], "previous"), ("assistant", ["ok"], "last"), ("user", ["write"], None)
    ]  # fmt: skip
    assert forked(go, traits=anthropic) == [("user", ["go"], "last"), ("user", ["write"], None)], "the mark keeps its place"
    assert forked(go, traits=CHAT) == [("user", ["go", "write"], None)]
    assert [said for _, said, _ in forked(go, ok, user(3, Text("on")), traits=CHAT)] == [["go"], ["ok"], ["on", "write"]]
    assert forked(go, note(2, "a"), traits=anthropic) == [
        ("user", ["go"], "last"),
        ("system", ["a"], None),
        ("assistant", [UNANSWERED], None),
        ("user", ["write"], None),
    ]
    assert forked(go, note(2, "a"), traits=taking("chat"))[1:] == [("system", ["a"], None), ("user", ["write"], None)]
    assert forked(traits=anthropic) == [("user", ["write"], None)]


@pytest.mark.design("Q-3", "W-2")
@pytest.mark.report(61)
def test_thinking_signed_for_another_prefix_is_dropped():
    def kept(seq, window=None, since=0, name="m", traits=SEES):
        projection = Projection(None, window, traits, prefix_since=since)
        projection.extend([user(1, Text("go")), model(seq, thought(name), Text("a"))])
        return [
            part.text for one in projection.request(SETTINGS).messages for part in one.parts if isinstance(part, ReasoningPart)
        ]

    window = Window("w", 2, "rebuild", 1, 1, 5)
    assert kept(5) == kept(6, window) == kept(0, window) == ["hm"]
    assert kept(5, window) == kept(4, window) == []
    assert kept(7, window, since=7) == []
    assert kept(8, window, since=7) == ["hm"]
    assert kept(5, window, since=2) == []
    assert kept(5, Window("w", 1, "start", 0, 0, 5)) == ["hm"], "no window was before the first"
    imported = msgspec.structs.replace(model(2, thought(), Text("a")), foreign_id="uuid")
    assert [type(part) for part in messages(user(1, Text("go")), imported)[1].parts] == [TextPart], "another program's prefix"


@pytest.mark.design("Q-3")
def test_plain_thinking_goes_back_by_chat_only():
    by_chat = Traits(name="m", protocol="chat", marks=0, thinking=True)
    unsigned = thought(signature="")
    window = Window("w", 2, "rebuild", 1, 1, 5)

    def kept(*parts, traits=by_chat, finish=Finish.STOP):
        got = messages(
            user(1, Text("go")), model(2, Text("ha")), model(3, *parts, Text("a"), finish=finish), traits=traits, window=window
        )
        return [part.text for one in got for part in one.parts if isinstance(part, ReasoningPart)]

    assert kept(unsigned) == ["hm"], "it is bound to no prefix, and to no answer before it"
    assert kept(unsigned, thought()) == kept(thought(redacted="x", signature="")) == []
    assert kept(thought(name="other", signature="")) == []
    assert kept(unsigned, finish=Finish.ERROR) == []
    assert kept(unsigned, traits=CHAT) == []
    assert kept(unsigned, traits=SEES) == []


@pytest.mark.design("Q-3")
def test_responses_takes_encrypted_thinking_only():
    takes = Traits(name="m", protocol="responses", marks=0, thinking=True)

    def kept(*parts):
        got = messages(user(1, Text("go")), model(2, *parts, Text("a")), traits=takes)
        return [part.redacted for one in got for part in one.parts if isinstance(part, ReasoningPart)]

    assert kept(thought(redacted="xx")) == kept(thought(signature="", redacted="xx")) == ["xx"]
    assert kept(thought()) == kept(thought(), thought(redacted="xx")) == []


@pytest.mark.design("W-2", "M-R2")
def test_reminders_of_the_live_tail_leave_with_the_old_window():
    window = Window("w", 2, "rebuild", 1, 1, 3)
    stored = [Message(f"r{seq}", "user", "engine", (Reminder("todo", f"n{seq}"),), seq) for seq in (2, 3, 4, 0)]
    (only,) = messages(user(1, Text("go")), *stored, window=window)
    assert [text.split("\n")[1] for text in texts(only)[1:]] == ["n4", "n0"]
    first = Window("w", 1, "start", 0, 0, 3)
    (only,) = messages(user(1, Text("go")), *stored, window=first)
    assert len(texts(only)) == 5, "what was placed before the first window opened belongs to it"


@pytest.mark.design("R-2", "R-3")
def test_notices_and_foreign_summaries_are_never_sent():
    foreign = Message("s", "user", "import", (Text("summary of before"),), 1, source="summary")
    meta = Message("i", "user", "import", (Text("cwd is /x"),), 2, source="meta")
    notice = Message("n", "user", "engine", (Notice("cost", "1 $"),), 3)
    got = messages(foreign, meta, notice, user(4, Text("go"), Notice("a", "b")), model(5, Notice("a", "b"), Text("ok")))
    assert [texts(one) for one in got] == [["cwd is /x", "go"], ["ok"]]
    ours = Message("s", "user", "engine", (Text("ours"),), 5, source="summary")
    wrapped = "<system-reminder>\nours\n</system-reminder>"
    assert texts(messages(user(4, Text("go")), ours)[0]) == ["go", wrapped], "only a foreign one is left out"
    answer = Message("s", "assistant", "import", (Text("they said"),), 5, source="summary")
    assert messages(user(4, Text("go")), answer) == messages(user(4, Text("go")))


@pytest.mark.design("R-2")
def test_text_of_the_engine_is_counted_as_such():
    (only,) = messages(user(1, Text("a")), Message("e", "user", "engine", (Text("go on"),), 2, source="continue"))
    assert [(part.about.kind, part.about.name) for part in only.parts] == [("user", ""), ("reminder", "continue")]


@pytest.mark.design("Q-3")
@pytest.mark.report(64)
def test_the_user_begins():
    got = messages(model(1, Text("hello")), user(2, Text("go")))
    assert [one.role for one in got] == ["user", "assistant", "user"]
    assert texts(got[0])[0].strip()
    prefix = build([section("rules", "r", "context", "dynamic", "Be kind.")], [])
    assert len(messages(model(1, Text("hello")), prefix=prefix)) == 2
    window = Window("w", 2, "rebuild", 4, 6, 7, opening=(Block("label", "L"),))
    assert [texts(one) for one in messages(model(7, Text("hello")), window=window)] == [["L"], ["hello"]]


PICTURE = Image("ab" * 32, "image/png", 1_234_567, (800, 600), "shot.png")


@pytest.mark.design("Q-3")
def test_pictures():
    blind = Traits(name="m", images=False)
    (sees,) = messages(user(1, PICTURE))
    assert (sees.parts[0].blob, sees.parts[0].media_type, sees.parts[0].about.kind) == ("ab" * 32, "image/png", "image")
    assert sees.parts[0].about.tokens == 640
    (told,) = messages(user(1, PICTURE), traits=blind)
    assert texts(told) == ["[picture shot.png: image/png, 800x600, 1,234,567 bytes; this model cannot see pictures]"]
    call = ToolCall("c", "view", state="completed", result=(PICTURE,))
    assert isinstance(messages(user(1, Text("go")), model(2, call))[2].parts[0].content[0], ImagePart)
    assert result_texts(messages(user(1, Text("go")), model(2, call), traits=blind)[2])[0][1][0].startswith("[picture shot.png")
    for_chat = messages(user(1, Text("go")), model(2, call), traits=CHAT)[2].parts[0].content
    assert [type(one) for one in for_chat] == [TextPart, ImagePart]
    assert "shown below" in for_chat[0].text


def shot(name="a", side=100, size=1_000):
    return Image("ab" * 32, "image/png", size, (side, 10) if side else None, name)


def shown(*pictures, **traits):
    """Which of the pictures, one a message, are sent; of the others the reason."""
    projection = Projection(None, None, Traits(name="m", **traits))
    projection.extend(user(seq, one) for seq, one in enumerate(pictures, 1))
    parts = [part for one in projection.request(SETTINGS).messages for part in one.parts]
    return [True if isinstance(part, ImagePart) else part.text.partition("; ")[2].removesuffix("]") for part in parts]


@pytest.mark.design("Q-3")
@pytest.mark.report(122)
def test_a_picture_that_is_too_large_is_named():
    assert shown(shot(side=2_000), shot(side=2_001), image_side=2_000) == [
        True,
        "too large: this model takes 2,000 pixels a side",
    ]
    tall = Image("ab" * 32, "image/png", 1, (10, 2_001), "tall.png")
    assert shown(tall, image_side=2_000) == ["too large: this model takes 2,000 pixels a side"]
    assert shown(shot(size=50), shot(size=51), image_bytes=50) == [True, "too large: this model takes 50 bytes a picture"]
    assert shown(shot(side=0), image_side=1) == [True], "nobody measured it"
    (told,) = messages(user(1, shot("wide.png", side=9_000)))
    assert texts(told) == [
        "[picture wide.png: image/png, 9000x10, 1,000 bytes; too large: this model takes 8,000 pixels a side]"
    ]


@pytest.mark.design("Q-2", "Q-3")
@pytest.mark.report(122)
def test_a_picture_beyond_the_count_is_named_and_nothing_sent_changes():
    full = "not shown: this request takes 3 pictures; open it again in the next window"
    assert shown(*[shot()] * 5, images_most=3) == [True] * 3 + [full] * 2
    assert shown(shot(), shot(size=9**9), shot(), shot(), images_most=3)[2:] == [True, True], (
        "one that is not sent is not counted"
    )
    call = ToolCall("c", "view", state="completed", result=(shot(), shot()))
    got = messages(user(1, shot(), shot()), model(2, call), user(3, shot()), traits=Traits(name="m", images_most=3))
    assert [type(one) for one in got[2].parts[0].content] == [ImagePart, TextPart]
    assert full in got[2].parts[0].content[1].text
    assert got[2].parts[0].content[1].about.kind == "result"


@pytest.mark.design("Q-3")
@pytest.mark.report(122)
def test_among_many_pictures_none_may_be_wide():
    wide = shot("wide.png", side=2_001)
    assert shown(*[shot(side=2_000)] * 25) == [True] * 25
    why = (
        "not shown: this request takes 20 pictures, as wide.png has more than 2,000 pixels a side; open it again in the"
        " next window"
    )
    assert shown(wide, *[shot()] * 24) == [True] * 20 + [why] * 5
    assert shown(*[shot()] * 24, wide) == [True] * 24 + [why]
    assert shown(*[shot()] * 19, wide, shot()) == [True] * 20 + [why]
    assert shown(*[shot()] * 20, wide, shot()) == [True] * 20 + [why, True]
    assert shown(wide, *[shot()] * 24, protocol="chat") == [True] * 25, "one protocol's rule"
    assert shown(wide, shot(), images_most=1)[1].startswith("not shown: this request takes 1 pictures, as wide.png")


@pytest.mark.design("Q-3")
@pytest.mark.report(122)
def test_all_pictures_together_are_bounded():
    big = shot(size=5_000_000)
    taking = {"image_bytes": 5_000_000}
    assert shown(*[big] * 5, shot(), **taking) == [
        *[True] * 4,
        "not shown: the pictures of this request are too many bytes; open it again in the next window",
        "not shown: the pictures of this request are too many bytes; open it again in the next window",
    ]
    last = shown(*[big] * 3, shot(size=4_999_999), shot(size=1), shot(size=1), **taking)[3:]
    assert last == [True, True, "not shown: the pictures of this request are too many bytes; open it again in the next window"]


@pytest.mark.design("Q-3", "R-8")
def test_files_are_an_excerpt_with_how_to_fetch_the_rest():
    file = File("cd" * 32, "text/csv", 40_000, "big.csv", "a,b\n1,2")
    (only,) = messages(user(7, file))
    assert texts(only) == [
        "a,b\n1,2\n[file big.csv: text/csv, 40,000 bytes; for the whole, read message 7 with the history tool]"
    ]
    assert texts(messages(user(7, File("cd" * 32, "text/csv", 5)))[0])[0].startswith("[file cdcdcdcdcdcd: text/csv, 5 bytes")
    assert texts(messages(user(7, File("cd" * 32, "text/csv", 5, excerpt=" \n")))[0])[0].startswith("[file cdcdcdcdcdcd")
    got = messages(user(1, Text("go")), model(2, ToolCall("c", "read", state="completed", result=(file,))))
    assert result_texts(got[2])[0][1][0].startswith("a,b\n1,2\n[file big.csv")


@pytest.mark.design("Q-3")
def test_call_ids_are_unique_and_take_the_protocols_shape():
    def ids(traits):
        got = messages(
            user(1, Text("go")),
            model(2, done("f.bash:0")),
            model(3, done("f.bash:0")),
            model(4, done(""), done("")),
            traits=traits,
        )
        calls = [part.call_id for one in got for part in one.parts if isinstance(part, CallPart)]
        results = [part.call_id for one in got for part in one.parts if isinstance(part, ResultPart)]
        assert calls == results
        return calls

    assert ids(SEES) == ["f_bash_0", "f_bash_0_3_0", "call_4_0", "call_4_1"]
    assert ids(CHAT) == ["f.bash:0", "f.bash:0_3_0", "call_4_0", "call_4_1"]


@pytest.mark.design("Q-3")
def test_call_ids_stay_unique_when_a_later_one_looks_like_ours():
    got = messages(user(1, Text("go")), model(2, done("a"), done("a_2_2"), done("a")))
    assert [part.call_id for part in got[1].parts] == ["a", "a_2_2", "a_2_2_"]


@pytest.mark.design("Q-3")
def test_call_ids_have_the_length_that_responses_takes():
    def ids(protocol, *lengths):
        calls = [done("x" * length) for length in lengths]
        got = messages(user(1, Text("go")), model(2, *calls), traits=Traits(name="m", protocol=protocol, marks=0))
        return [part.call_id for one in got for part in one.parts if isinstance(part, CallPart)]

    assert ids("responses", 64, 65, 66) == ["x" * 64, "x" * 40, "x" * 40 + "_2_2"]
    assert ids("responses", 64, 64) == ["x" * 64, "x" * 40 + "_2_1"]
    assert ids("anthropic", 65) == ["x" * 65]
    assert ids("anthropic", 65, 65) == ["x" * 65, "x" * 65 + "_2_1"]


@pytest.mark.design("Q-3")
def test_call_ids_have_the_length_that_chat_takes():
    def ids(*own):
        got = messages(user(1, Text("go")), model(2, *map(done, own)), traits=CHAT)
        found = [part.call_id for one in got for part in one.parts if isinstance(part, CallPart)]
        assert found == [part.call_id for one in got for part in one.parts if isinstance(part, ResultPart)]
        return found

    assert ids("x" * 40, "x" * 41, "x" * 42) == ["x" * 40, "x" * 24, "x" * 24 + "_2_2"]
    assert ids("x" * 40, "x" * 40) == ["x" * 40, "x" * 24 + "_2_1"]
    long = "chatcmpl-tool-0123456789abcdef0123456789abcdef"
    assert ids(long, "9") == ["chatcmpl-tool-0123456789", "9"]


@pytest.mark.design("Q-3")
@pytest.mark.report(63)
def test_thinking_before_a_blank_message_is_not_sent_to_responses():
    def kinds(protocol, *said):
        traits = Traits(name="m", protocol=protocol, marks=0, thinking=True)
        got = messages(user(1, Text("go")), model(2, *said, done("c"), finish=Finish.TOOL_CALLS), traits=traits)
        return [type(part).__name__ for part in got[1].parts]

    def thought(n):
        return Reasoning("", redacted=f"enc{n}", signature=f"rs_{n}", model="m")

    assert kinds("responses", thought(0), Text("ok")) == ["ReasoningPart", "TextPart", "CallPart"]
    assert kinds("responses", thought(0)) == ["ReasoningPart", "CallPart"]
    assert kinds("responses", thought(0), Text(" \n")) == ["CallPart"]
    assert kinds("responses", thought(0), Text(" "), thought(1)) == ["CallPart"], "all of a message's thinking or none"
    assert kinds("responses", Text(" "), thought(0)) == ["ReasoningPart", "CallPart"]
    assert kinds("anthropic", thought(0), Text(" ")) == ["ReasoningPart", "CallPart"]


@pytest.mark.design("Q-3")
def test_tool_names_are_made_fit():
    got = messages(user(1, Text("go")), model(2, done("a", name="x.y z"), done("b", name=""), done("c", name="n" * 65)))
    assert [part.name for part in got[1].parts] == ["x_y_z", "unnamed", "n" * 64]
    assert [part.name for part in got[2].parts] == ["x_y_z", "unnamed", "n" * 64]


@pytest.mark.design("R-3")
def test_provider_fields_go_back_to_their_own_model_only():
    call = ToolCall("c", "bash", {}, state="completed", extra={"extra_content": {"sig": "x"}})
    own = messages(user(1, Text("go")), model(2, call))[1].parts[0]
    foreign = messages(user(1, Text("go")), model(2, call, name="other"))[1].parts[0]
    assert (own.extra, foreign.extra) == ({"extra_content": {"sig": "x"}}, {})


@pytest.mark.design("Q-4", "M-4", "C-8")
@pytest.mark.report(42)
def test_tools_and_system_are_counted():
    tools = [
        {
            "name": f"t{n}",
            "description": "does things " * 50,
            "schema": {"type": "object", "properties": {"a": {"type": "string"}}},
        }
        for n in range(30)
    ]
    prefix = build([section("role", "s", "system", "stable", "word " * 200)], tools)
    request = project(prefix, None, [user(1, Text("hi"))], SEES, SETTINGS)
    assert len(request.tools) == 30
    assert all(tool.about.kind == "tools" and tool.about.name == tool.name for tool in request.tools)
    counted = sum(tool.about.tokens for tool in request.tools) + sum(block.about.tokens for block in request.system)
    assert counted == prefix.tokens
    assert counted > 30 * 60 + 150


@pytest.mark.design("Q-1")
def test_growing_is_the_same_as_folding_at_once():
    stored = [user(1, Text("a")), model(2, Text("b"), done("c")), user(3, Text("d"))]
    grown = Projection(None, None, SEES)
    for one in stored:
        grown.extend([one])
        grown.request(SETTINGS)
    assert grown.request(SETTINGS, 2) == project(None, None, stored, SEES, SETTINGS, 2)
    assert grown.request(SETTINGS).settings == SETTINGS
