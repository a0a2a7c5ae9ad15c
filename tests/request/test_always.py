"""What holds for every history, at every cut and every crash (Q-1, Q-2, Q-3)."""

import asyncio

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.base import Finish, ManualClock
from sojourn.models import ENCODERS, Encoder
from sojourn.prefix import build, section
from sojourn.record import (
    AddMessage,
    Block,
    Fence,
    File,
    Image,
    Lease,
    Message,
    Notice,
    Reasoning,
    Reminder,
    Session,
    Text,
    ToolCall,
    Window,
)
from sojourn.record.sqlite import SqliteStore
from sojourn.request import Projection, UnitHashes, body_units, extends, first_difference, problems, project, unit_hashes, units
from sojourn.wire import About, RequestSettings, TextPart, Traits, WireMessage

SETTINGS = RequestSettings("m", 1_000)
PREFIX = build(
    [section("identity_line", "s", "system", "stable", "I"), section("rules", "s", "context", "dynamic", "Be kind.")],
    [{"name": "bash", "description": "runs", "schema": {"type": "object"}}],
)
WINDOW = Window("w", 2, "rebuild", 0, 0, 0, opening=(Block("label", "L"), Block("closing", "\n\nC")))
PROTOCOLS = list(ENCODERS)
TRAITS = {
    name: Traits(name="m", protocol=name, marks=4 if name == "anthropic" else 0, thinking=True, images_most=3, mid_system=True)
    for name in PROTOCOLS
}
BLIND = {
    name: msgspec.structs.replace(traits, images=False, thinking=False, mid_system=False) for name, traits in TRAITS.items()
}

LATER = Window("w", 2, "rebuild", 0, 2, 4, opening=(Block("label", "L"),))
EXTRA = WireMessage("user", (TextPart("write the checkpoint", About("writer")),))

words = st.sampled_from(["", " ", "\n\t", "a", "read the file", "x" * 300, "\ud800", "改一下", "<system-reminder>hi"])
text = st.builds(Text, words)
image = st.builds(Image, st.sampled_from(["ab" * 32, "cd" * 32]), st.just("image/png"), st.just(10))
file = st.builds(File, st.just("ef" * 32), st.just("text/plain"), st.just(99_999), st.just("f.txt"), words)
call = st.builds(
    ToolCall,
    st.sampled_from(["", "c1", "c2", "f.bash:0"]),
    st.sampled_from(["bash", "", "a.b"]),
    st.dictionaries(st.sampled_from(["a", "b"]), words, max_size=2),
    st.sampled_from(
        ["", '{"x'],
    ),
    st.sampled_from(["pending", "running", "completed", "error", "interrupted"]),
    st.lists(st.one_of(text, image, file), max_size=2).map(tuple),
)
thinking = st.builds(
    Reasoning, words, st.just("p"), st.sampled_from(["m", "other"]), st.sampled_from(["", "sig"]), st.sampled_from(["", "xx"])
)
notice = st.just(Notice("cost", "1 $"))
spoken = st.lists(st.one_of(text, text, image, file, notice), max_size=3).map(tuple)
answered = st.lists(st.one_of(text, call, call, thinking, notice), max_size=4).map(tuple)
finish = st.sampled_from([None, Finish.STOP, Finish.TOOL_CALLS, Finish.LENGTH, Finish.INTERRUPTED, Finish.ERROR])
models = st.sampled_from(["m", "other"])
reminder = st.lists(
    st.builds(Reminder, st.sampled_from(["todo_reminder", "runtime_mode"]), words, st.sampled_from(["system", "wrapped"])),
    min_size=1,
    max_size=2,
).map(tuple)
foreign = st.sampled_from(["summary", "meta"])
message = st.one_of(
    st.builds(Message, st.just("u"), st.just("user"), st.just("user"), spoken),
    st.builds(Message, st.just("a"), st.just("assistant"), st.just("model"), answered, model=models, finish=finish),
    st.builds(Message, st.just("r"), st.just("user"), st.just("engine"), reminder),
    st.builds(Message, st.just("r"), st.just("user"), st.just("engine"), reminder),
    st.builds(Message, st.just("e"), st.just("user"), st.just("engine"), st.tuples(text), source=st.just("continue")),
    st.builds(Message, st.just("i"), st.sampled_from(["user", "assistant"]), st.just("import"), spoken, source=foreign),
)


@st.composite
def histories(draw):
    stored = draw(st.lists(message, max_size=8))
    return [msgspec.structs.replace(one, seq=seq) for seq, one in enumerate(stored, 1)]


def next_words(seq):
    """A person goes on after every crash."""
    return Message("next", "user", "user", (Text("continue"),), seq)


@pytest.mark.design("Q-3", "R-12", "T-5")
@pytest.mark.report(58, 59, 63, 64)
@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(history=histories(), window=st.sampled_from([None, WINDOW]), prefix=st.sampled_from([None, PREFIX]), blind=st.booleans())
@settings(max_examples=60, deadline=None)
def test_valid_at_every_cut_and_crash(protocol, history, window, prefix, blind):
    traits = (BLIND if blind else TRAITS)[protocol]
    for cut in range(len(history) + 1):
        tail = history[cut:]
        for stored in (history[:cut], tail):
            request = project(prefix, window, [*stored, next_words(99)], traits, SETTINGS, cut)
            assert problems(request, protocol) == []


@pytest.mark.design("Q-2", "Q-1")
@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(
    history=histories(),
    window=st.sampled_from([None, WINDOW, LATER]),
    prefix=st.sampled_from([None, PREFIX]),
    blind=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_every_request_extends_the_one_before(protocol, history, window, prefix, blind):
    """With reminders of both forms anywhere, in every protocol; so do the writer's (Q-7)."""
    encode, traits = ENCODERS[protocol], (BLIND if blind else TRAITS)[protocol]
    before = None
    for cut in range(len(history) + 1):
        now = units(project(prefix, window, history[:cut], traits, SETTINGS, cut - 1), encode)
        if before is not None:
            assert first_difference(now, before) is None
            assert extends(unit_hashes(now), unit_hashes(before))
        before = now
        grown = Projection(prefix, window, traits)
        grown.extend(history[:cut])
        forked = grown.fork(EXTRA, SETTINGS, cut - 1)
        assert extends(units(forked, encode), now)
        assert forked.messages[-1].parts[-1] == EXTRA.parts[0]
        wrong = [one for one in problems(forked, protocol) if not one.endswith("a second one of role user in a row")]
        assert wrong == [], "behind a mark the extra message stands by itself: the one thing that is allowed"
        assert protocol == "anthropic" or problems(forked, protocol) == []


async def kept(history):
    """What the record gives back after the program was closed."""
    store = await SqliteStore.open(None, clock=ManualClock())
    await store.create(Session(id="s"))
    lease = await store.acquire("s", "elsewhere:1:a")
    assert isinstance(lease, Lease)
    for one in history:
        await store.commit("s", Fence(epoch=lease.epoch), [AddMessage(msgspec.structs.replace(one, id=f"m{one.seq}"))])
    back = await store.messages("s")
    await store.close()
    return back


@pytest.mark.design("M-R2", "Q-2", "R-7")
@pytest.mark.report(45, 47)
@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(history=histories(), more=histories())
@settings(max_examples=20, deadline=None)
def test_a_resumed_request_is_the_old_one_and_the_new_tail(protocol, history, more):
    encode, traits = ENCODERS[protocol], TRAITS[protocol]
    live = project(PREFIX, WINDOW, history, traits, SETTINGS)
    back = asyncio.run(kept(history))
    assert units(project(PREFIX, WINDOW, back, traits, SETTINGS), encode) == units(live, encode)
    later = [msgspec.structs.replace(one, seq=one.seq + len(history)) for one in more]
    assert extends(units(project(PREFIX, WINDOW, [*back, *later], traits, SETTINGS), encode), units(live, encode))


@pytest.mark.design("Q-5", "Q-7")
@given(history=histories(), window=st.sampled_from([None, WINDOW]))
@settings(max_examples=60, deadline=None)
def test_a_writers_fork_has_the_same_marks(history, window):
    grown = Projection(PREFIX, window, TRAITS["anthropic"])
    grown.extend(history)
    request, forked = grown.request(SETTINGS, 2), grown.fork(EXTRA, SETTINGS, 2)
    assert forked.system == request.system
    assert forked.messages[: len(request.messages)] == request.messages, "what carries a mark is not joined"
    assert forked.messages[-1] == EXTRA
    assert all(message.mark is None for message in request.messages if message.role == "system")
    assert grown.request(SETTINGS, 2) == request, "forking changes nothing"


@pytest.mark.design("A-1", "R-15")
@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(
    history=histories(),
    other=histories(),
    steps=st.lists(st.integers(0, 8), max_size=6),
    window=st.sampled_from([None, WINDOW]),
)
@settings(max_examples=60, deadline=None)
def test_encoding_step_by_step_gives_the_same_body(protocol, history, other, steps, window):
    encoder, encode = Encoder(protocol), ENCODERS[protocol]
    requests = [
        project(PREFIX, window, history[:cut], TRAITS[protocol], SETTINGS, cut - 1)
        for cut in (*range(len(history) + 1), *steps)
    ]
    requests += [project(None, window, other, TRAITS[protocol], SETTINGS), *requests[-1:]]
    grown = Projection(PREFIX, window, TRAITS[protocol])
    for one in history:
        grown.extend([one])
        requests.append(grown.request(SETTINGS, one.seq - 1))
    hashes = UnitHashes()
    for request in requests:
        body = encoder.encode(request)
        assert body == encode(request)
        assert hashes.of(body) == unit_hashes(body_units(encode(request)))
