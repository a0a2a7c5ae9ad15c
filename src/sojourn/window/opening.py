"""The opening of a window, exactly as it is sent (W-1, W-3, W-4, W-7). Same input, same bytes."""

from collections.abc import Callable, Sequence

import msgspec

from sojourn.base import Item, escape_reminders
from sojourn.meter import fit_line
from sojourn.record import Block
from sojourn.window.budget import Want, share_out, total_budget
from sojourn.window.cut import cut_sections
from sojourn.window.digest import Digest, digest
from sojourn.window.document import lines_of, settled
from sojourn.window.fit import exceeds, fitting_lines, rough, start_of
from sojourn.window.recent_user import Chosen, UserTexts, user_text
from sojourn.window.repeats import not_in_user_words, not_in_working_set
from sojourn.window.schema import budgets, fit_items, render_items, topic
from sojourn.window.sections import ANSWERED_CAP, ROWS, USER_MESSAGE_CAP, Row, row
from sojourn.window.tasks_ledger import left_out
from sojourn.window.texts import (
    ANSWER_USER,
    BOUNDARY,
    CONTINUES,
    ITEMS_CUT,
    LABEL,
    LABEL_SHORT,
    LINES_CUT,
    MARK,
    MID_LOOP,
    NOTES_CUT,
    NOTES_CUT_UNNAMED,
    OPEN_TASK,
    OPEN_TASK_NEXT,
    OPEN_TASK_PLAIN,
    OPEN_TASK_PROGRESS,
    PLACE,
    READ_ON,
    READ_ON_UNNAMED,
    RECORD,
    TOPIC,
    USERS_CUT,
    WAIT,
)
from sojourn.window.types import Count, LeftOut, Opening, OpeningInput, OpeningSection, UserText
from sojourn.window.working_set import names_only

_NEWEST = "newest_request"
_OWN_WORDS = ("pins", "recent_user")
_FRAME_SHARE = 8
"""The label takes its short form where with the long one label and closing would be over an eighth of the total."""
_NAME_CHARACTERS, _ACTION_CHARACTERS, _TOPIC_CHARACTERS = 120, 300, 80


class _Shown(msgspec.Struct, frozen=True):
    """A block with what did not fit into it."""

    text: str
    tokens: int
    sources: tuple[int, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


class _Draft(msgspec.Struct, frozen=True):
    """A section before its share is known."""

    row: Row
    want: int
    whole: _Shown | None
    """None: it is over its cap."""
    cut: Callable[[int], _Shown]


def open_window(inp: OpeningInput) -> Opening:
    """The opening within its total (W-4): label, the sections of W-3 in order, the closing by state (W-7).

    ``budget`` is ``total_budget(share_base, fixed, live_tail)`` tokens and ``tokens`` never exceeds it, label and
    closing included. A ``start`` window has pins and rows 5 and 6 only, and no closing. ``has_content`` is False, and
    nothing is to be written, where no section has anything to say (W-10).
    """
    total = total_budget(inp.share_base, inp.fixed, inp.live_tail)
    users = _Users(inp)
    label, closing = _frame(inp, total)
    room = total - label.tokens - closing.tokens
    once = not_in_working_set(inp.items, inp.working_set)
    drafts, shares = _shared(inp, once, users, room)
    if len(once) < len(inp.items) and not _whole("working_set", drafts, shares):
        once = inp.items
        drafts, shares = _shared(inp, once, users, room)
    shown = _filled(drafts, users, shares)
    unquoted = not_in_user_words(once, _user_words(shown))
    if len(unquoted) < len(once):
        drafts, shares = _shared(inp, unquoted, users, room)
        fewer = _filled(drafts, users, shares)
        # What was left away makes room for more, never for less; should it be otherwise, the items stand.
        shown = fewer if not_in_user_words(once, _user_words(fewer)) == unquoted else shown
    filled: dict[str, _Shown] = {one.name: shown[one.name] for one in ROWS if one.name in shown and shown[one.name].text}
    gone = tuple(left for name in _ORDER if name in shown for left in shown[name].left_out)
    if not filled or room <= 0:
        return Opening((), {}, 0, total, gone, has_content=False)
    pieces = {"label": label, **filled}
    if closing.text:
        pieces["closing"] = closing
    blocks = tuple(Block(name, _harmless(name, one.text), one.tokens, one.sources) for name, one in pieces.items())
    tokens = {name: one.tokens for name, one in pieces.items()}
    return Opening(blocks, tokens, sum(tokens.values()), total, gone)


def _shared(inp: OpeningInput, items: Sequence[Item], users: "_Users", room: int) -> tuple[list[_Draft], dict[str, int]]:
    """The sections' drafts, the checkpoint's with these items, and what each gets."""
    drafts = _drafts(inp, items)
    wants = [_want(draft) for draft in drafts] + users.wants()
    return drafts, share_out(sorted(wants, key=lambda want: _ORDER[want.name]), max(0, room))


def _whole(section: str, drafts: Sequence[_Draft], shares: dict[str, int]) -> bool:
    """Whether the section is shown uncut."""
    return any(one.row.name == section and one.whole is not None and one.whole.tokens <= shares[section] for one in drafts)


def _filled(drafts: Sequence[_Draft], users: "_Users", shares: dict[str, int]) -> dict[str, _Shown]:
    return {draft.row.name: _show(draft, shares[draft.row.name]) for draft in drafts} | users.show(shares)


def _user_words(shown: dict[str, _Shown]) -> list[str]:
    return [shown[name].text for name in ("recent_user", "recent_activity") if name in shown]


def _harmless(section: str, text: str) -> str:
    """What quotes files, results and answers has look-alikes of reminders escaped; the person's own words are not touched
    (M-R4)."""
    return text if section in _OWN_WORDS else escape_reminders(text)


_ORDER: dict[str, int] = {name: index for index, name in enumerate([*(one.name for one in ROWS), _NEWEST])}


def _cap(inp: OpeningInput, one: Row) -> int:
    return max(0, inp.caps.get(one.name, one.cap_of(inp.share_base)))


def _want(draft: _Draft) -> Want:
    one = draft.row
    return Want(one.name, draft.want, one.floor, one.weight, last=one.last)


def _show(draft: _Draft, share: int) -> _Shown:
    if draft.whole is not None and draft.whole.tokens <= share:
        return draft.whole
    return draft.cut(share)


# --- sections that the caller fills, the working set, the checkpoint ----------------------------------------------


def _drafts(inp: OpeningInput, items: Sequence[Item]) -> list[_Draft]:
    drafts = []
    for one in ROWS:
        if inp.kind == "start" and not one.at_start:
            continue
        sections = [section for section in inp.sections if section.name == one.name and section.text.strip()]
        if one.name == "checkpoint":
            drafts += _checkpoint_draft(inp, one, items)
        elif one.name == "working_set" and inp.working_set.strip():
            drafts += _text_draft(inp, one, OpeningSection(one.name, inp.working_set))
        elif sections and one.name not in ("recent_user", "recent_activity"):
            text = "\n\n".join(section.text for section in sections)
            drafts += _text_draft(inp, one, OpeningSection(one.name, text, sections[0].path))
    return drafts


def _text_draft(inp: OpeningInput, one: Row, section: OpeningSection) -> list[_Draft]:
    body, skipped = settled(section.text, own_title=bool(section.path))
    if not body.strip():
        return []
    count, cap = inp.count, _cap(inp, one)
    head = _head(one, section.path)
    whole = None
    want = cap
    if not exceeds(head + body, cap, count):
        tokens = count(head + body)
        whole, want = _Shown(head + body, tokens), tokens

    def cut(share: int) -> _Shown:
        budget = min(share, cap)
        text, left = _settle(lambda room: _cut(one, body, room, count, section.path, skipped), head, budget, count)
        tokens = count(text) if text else 0
        gone = max(0, (whole.tokens if whole else rough(head + body, count)) - tokens)
        return _Shown(text, tokens, (), (LeftOut(one.name, max(1, left), gone),))

    return [_Draft(one, want, whole, cut)]


def _head(one: Row, path: str = "") -> str:
    named = f"File: {fit_line(path, 1_000)}\n" if path else ""
    return f"\n\n# {one.heading}\n{named}\n"


def _settle(render: Callable[[int], tuple[str, int]], head: str, budget: int, count: Count) -> tuple[str, int]:
    """Head and body within the budget; a body is asked again with less room where counts do not add up."""
    room = budget - count(head)
    left = 0
    for _ in range(6):
        if room <= 0:
            break
        body, left = render(room)
        over = count(head + body) - budget if body else 0
        if over <= 0:
            return (head + body if body else ""), left
        room -= over + 1
    body, left = render(0)
    return "", left


def _cut(one: Row, body: str, room: int, count: Count, path: str, skipped: int) -> tuple[str, int]:
    """The body within ``room`` tokens by its row's rule, and how many lines are left out."""
    lines = lines_of(body)

    def hint(line: int) -> str:
        return READ_ON.format(path=fit_line(path, 300), line=line + skipped) if path else READ_ON_UNNAMED.format(line=line)

    if one.cut == "document":
        text = cut_sections(body, room, count, hint=hint)
    elif one.cut == "names":
        text = names_only(body, room, count)
    elif one.cut == "end":
        return _newest_lines(lines, room, count, path)
    else:
        return _first_lines(lines, room, count, _note(one, lines, hint))
    return text, max(0, len(lines) - len(lines_of(text)))


def _note(one: Row, lines: Sequence[str], hint: Callable[[int], str]) -> Callable[[int], str]:
    """What is said below a cut, by the number of the first line that is left out."""
    if one.cut == "start":
        return hint
    if one.cut == "tasks":
        return lambda line: left_out(lines[line - 1 :])
    return lambda line: LINES_CUT.format(count=len(lines) - line + 1)


def _first_lines(lines: Sequence[str], room: int, count: Count, note: Callable[[int], str]) -> tuple[str, int]:
    kept = fitting_lines(lines, room - max(count("\n" + note(1)), count("\n" + note(len(lines)))), count)
    while kept and not lines[kept - 1].strip():
        kept -= 1
    used = count("\n".join([*lines[:kept], note(kept + 1)]))
    start = start_of(lines[kept], room - used - 1, count) if kept < len(lines) else ""
    text = "\n".join([*lines[:kept], *([start] if start else []), note(kept + 1)])
    return (text if count(text) <= room else ""), len(lines) - kept


def _newest_lines(lines: Sequence[str], room: int, count: Count, path: str) -> tuple[str, int]:
    def note(left: int) -> str:
        return NOTES_CUT.format(count=left, path=fit_line(path, 300)) if path else NOTES_CUT_UNNAMED.format(count=left)

    kept = fitting_lines(lines, room - count(note(len(lines)) + "\n"), count, newest=True)
    left = len(lines) - kept
    text = "\n".join([note(left), *lines[left:]])
    return (text if count(text) <= room else ""), left


def _checkpoint_draft(inp: OpeningInput, one: Row, items: Sequence[Item]) -> list[_Draft]:
    count, cap = inp.count, _cap(inp, one)
    text, kept, dropped = render_items(items, budgets(inp.share_base), count)
    if not text and not dropped:
        return []
    head = _head(one)
    note = "\n\n" + ITEMS_CUT
    by_id = {item.id: item for item in items}

    def shown(body: str, ids: Sequence[str], gone: Sequence[str]) -> _Shown:
        sources = tuple(sorted({seq for name in ids for seq in by_id[name].sources}))
        left = (LeftOut(one.name, len(gone), sum(count(by_id[name].text) for name in gone)),) if gone else ()
        return _Shown(body, count(body) if body else 0, sources, left)

    def cut(share: int) -> _Shown:
        result: tuple[tuple[str, ...], tuple[str, ...]] = ((), tuple(by_id))

        def render(room: int) -> tuple[str, int]:
            nonlocal result
            last = note.format(count=len(by_id))
            body, ids, gone = fit_items(items, room - count(last), inp.share_base, count)
            result = (ids, gone)
            return (body + (note.format(count=len(gone)) if gone else "")) if body else "", len(gone)

        body, _ = _settle(render, head, min(share, cap), count)
        return shown(body, *result)

    whole = shown(head + text + (note.format(count=len(dropped)) if dropped else ""), kept, dropped)
    return [_Draft(one, min(cap, whole.tokens), whole if whole.tokens <= cap and text else None, cut)]


# --- the user's words and recent activity (rows 4 and 9 share a budget for the user's messages) -------------------


class _Users:
    """Rows 4 and 9 of one opening."""

    def __init__(self, inp: OpeningInput) -> None:
        self._count = inp.count
        self._old, self._activity = inp.user_texts, inp.activity
        if inp.kind == "start":
            self._old, self._activity = (), ()
        own = [
            user_text(message, inp.activity_status.get(message.seq, "open"))
            for message in self._activity
            if message.origin == "user"
        ]
        self._new = tuple(text for text in own if text is not None)
        rows = {one: row(one) for one in ("recent_user", "recent_activity")}
        self._user_row, self._activity_row = rows["recent_user"], rows["recent_activity"]
        self._user_cap, self._line_cap = _cap(inp, self._user_row), _cap(inp, self._activity_row)
        self._user_head, self._activity_head = _head(self._user_row), _head(self._activity_row)
        self._old_head = inp.count(self._user_head)
        self._new_head = inp.count(self._activity_head)
        texts: Sequence[UserText] = (*self._old, *self._new) if self._user_cap else ()
        per_message = min(inp.caps.get("recent_user_per_msg", USER_MESSAGE_CAP), self._user_cap)
        self._texts = UserTexts(texts, per_message, inp.count, ANSWERED_CAP if inp.economic else None)
        self._everything = self._texts.choose(self._user_cap)
        quoted = self._quoted(self._everything)
        self._lines = digest(self._activity, self._line_cap, inp.count, quoted=quoted)
        self._own_lines = max(0, self._lines.tokens - sum(inp.count(text + "\n") for text in quoted.values()))
        self._whole = {"recent_user": self._user_block(self._everything), "recent_activity": self._activity_block(self._lines)}
        self._whole_tokens = sum(one.tokens for one in self._whole.values())

    def wants(self) -> list[Want]:
        """The newest request by itself, the lines, the other messages; together what both blocks take whole."""
        entries = self._everything.entries
        newest = self._texts.newest() + self._heads() if entries else 0
        lines = self._own_lines + (0 if entries else self._heads()) if self._own_lines else 0
        rest = max(0, self._whole_tokens - newest - lines)
        if len(entries) == 1:
            newest, rest = newest + rest, 0
        elif not entries:
            lines, rest = lines + rest, 0
        user_floor = max(0, self._user_row.floor - newest)
        wants = [
            Want(_NEWEST, newest, newest, 0, last=True),
            Want("recent_user", rest, user_floor, self._user_row.weight),
            Want("recent_activity", lines, self._activity_row.floor, self._activity_row.weight),
        ]
        return [want for want in wants if want.want > 0]

    def show(self, shares: dict[str, int]) -> dict[str, _Shown]:
        """The two blocks within the shares together."""
        newest, others, lines = (shares.get(name, 0) for name in (_NEWEST, "recent_user", "recent_activity"))
        if newest + others + lines >= self._whole_tokens:
            return self._whole
        chosen = self._texts.choose(min(self._user_cap, max(0, newest - self._heads()) + max(0, others - self._note())))
        quoted = self._quoted(chosen)
        in_lines = sum(one.tokens + 1 for one in chosen.entries if one.seq in quoted)
        wanted = lines + (in_lines + self._new_head if quoted else 0)
        activity = self._fit_activity(quoted, min(wanted, newest + others + lines))
        return {
            "recent_user": self._fit_user(chosen, newest + others + min(0, lines - activity.tokens)),
            "recent_activity": activity,
        }

    def _heads(self) -> int:
        return (self._old_head if self._old else 0) + (self._new_head if self._new else 0)

    def _note(self) -> int:
        return self._count("\n\n" + USERS_CUT.format(count=len(self._old)))

    def _quoted(self, chosen: Chosen) -> dict[int, str]:
        new = {text.seq for text in self._new}
        return {one.seq: one.text for one in chosen.entries if one.seq in new}

    def _activity_block(self, lines: Digest) -> _Shown:
        text = self._activity_head + lines.text if lines.text else ""
        left = (LeftOut("recent_activity", lines.left_out, 0),) if lines.left_out else ()
        return _Shown(text, self._count(text) if text else 0, lines.sources, left)

    def _fit_activity(self, quoted: dict[int, str], budget: int) -> _Shown:
        outside = sum(self._count(text + "\n") for text in quoted.values())
        room = budget - self._new_head
        while True:
            lines = digest(self._activity, min(self._line_cap, room - outside), self._count, quoted=quoted)
            block = self._activity_block(lines)
            if block.tokens <= budget or not block.text:
                return block
            room -= block.tokens - budget

    def _user_block(self, chosen: Chosen, dropped: int = 0) -> _Shown:
        """The messages that do not stand among the lines, without the ``dropped`` oldest."""
        new = {text.seq for text in self._new}
        entries = [one for one in chosen.entries if one.seq not in new]
        gone = chosen.left_out + min(dropped, len(entries))
        gone_tokens = chosen.left_out_tokens + sum(one.tokens for one in entries[:dropped])
        entries = entries[dropped:]
        last = [USERS_CUT.format(count=gone)] if gone else []
        text = self._user_head + "\n\n".join([*last, *(one.text for one in entries)]) if entries else ""
        left = (LeftOut("recent_user", gone, gone_tokens),) if gone else ()
        return _Shown(text, self._count(text) if text else 0, tuple(one.seq for one in entries), left)

    def _fit_user(self, chosen: Chosen, budget: int) -> _Shown:
        dropped = 0
        while (block := self._user_block(chosen, dropped)).tokens > budget:
            dropped += 1
        return block


# --- label and closing --------------------------------------------------------------------------------------------


def _frame(inp: OpeningInput, total: int) -> tuple[_Shown, _Shown]:
    """The closing with the label in its long form, else in its short one; the label alone where both do not fit."""
    closing = _closing(inp)
    last = _Shown(closing, inp.count(closing) if closing else 0)
    for short in (False, True):
        label = _label(inp, short=short)
        first = _Shown(label, inp.count(label))
        if (first.tokens + last.tokens) * (1 if short else _FRAME_SHARE) <= total:
            return first, last
    return first, _Shown("", 0)


def _label(inp: OpeningInput, *, short: bool) -> str:
    lines = [LABEL_SHORT if short else LABEL]
    about = topic(inp.items) if inp.kind != "start" else ""
    if inp.checkpoint_path and inp.kind != "start" and not short:
        lines.append(PLACE.format(path=fit_line(inp.checkpoint_path, 1_000)))
    if about and not short:
        lines.append(TOPIC.format(topic=fit_line(about, _TOPIC_CHARACTERS)))
    return "\n".join(lines)


def _closing(inp: OpeningInput) -> str:
    if inp.kind == "start":
        return ""
    boundary = BOUNDARY.format(boundary=fit_line(inp.boundary, _NAME_CHARACTERS)) if inp.boundary else ""
    first = CONTINUES.format(kind="checkpoint" if inp.kind == "rebuild" else "summary", boundary=boundary)
    return f"\n\n{first} {RECORD}\n{MARK} {_state(inp)}"


def _state(inp: OpeningInput) -> str:
    if inp.closing == "answer_user":
        return ANSWER_USER
    if inp.closing == "mid_loop":
        return MID_LOOP
    if inp.closing == "wait" or inp.task is None:
        return WAIT
    sentences = [OPEN_TASK.format(name=fit_line(inp.task.name, _NAME_CHARACTERS))]
    if inp.task.next_action:
        sentences.append(OPEN_TASK_NEXT.format(next_action=fit_line(inp.task.next_action, _ACTION_CHARACTERS).rstrip(".")))
    if inp.task.progress_file:
        sentences.append(OPEN_TASK_PROGRESS.format(progress_file=fit_line(inp.task.progress_file, _ACTION_CHARACTERS)))
    else:
        sentences.append(OPEN_TASK_PLAIN)
    return " ".join(sentences)
