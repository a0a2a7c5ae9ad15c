"""How long an opening takes (W-13), and a section-aware cut (W-5)."""

import random
import time
from collections.abc import Callable

from bench._row import Row
from sojourn.base import Finish, Item, Section
from sojourn.meter import count_message, estimate_text, message_tokens, total
from sojourn.record import Message, Text, ToolCall, Touch
from sojourn.window import (
    OpeningInput,
    OpeningSection,
    closing_state,
    cut_sections,
    digest_seq,
    open_window,
    statuses,
    user_text,
    working_set,
)

_SENTENCE = "the parser reads config files from disk and maps every token into a tree of nodes before it is written back"
_TRIGGER = 180_000


def run(quick: bool) -> list[Row]:
    """Milliseconds of one core, the best of several runs."""
    times = 5 if quick else 25
    dice = random.Random(7)
    history = _history(dice, 200_000)
    document = _document(dice, 60_000)
    sections = (
        OpeningSection("pins", "- never push to main"),
        OpeningSection("project_memory", document, "/memory/projects/p/MEMORY.md"),
        OpeningSection("global_memory", document[: len(document) // 2], "/memory/global/MEMORY.md"),
        OpeningSection("notes", document[: len(document) // 3], "/memory/sessions/s/notes.md"),
    )
    items = tuple(Item(f"i{n}", list(Section)[n % 9], _prose(dice, 20), (n,), written_seq=n) for n in range(150))
    rows = []
    for name, covered in (("all of it as activity", 0), ("half of it covered", history[len(history) // 2].seq)):
        spent = _best(lambda covered=covered: _open(history, covered, items, sections), times)
        rows.append(
            Row(f"opening from 200K tokens of history, {name}", spent, "ms", "goal: under 50 (W-13); memory over its caps")
        )
    for budget in (10_000, 2_000):
        spent = _best(
            lambda budget=budget: cut_sections(document, budget, _count, hint=lambda line: f"read on from line {line}"), times
        )
        rows.append(Row(f"section-aware cut of 60 KB to {budget:,} tokens", spent, "ms", "W-5"))
    return rows


def _open(history: list[Message], covered: int, items: tuple[Item, ...], sections: tuple[OpeningSection, ...]) -> None:
    status = statuses(history)
    digest = digest_seq(history, covered)
    texts = [user_text(one, status[one.seq]) for one in history if one.seq <= covered and one.seq in status]
    open_window(
        OpeningInput(
            kind="rebuild",
            count=_count,
            share_base=_TRIGGER,
            hard=_TRIGGER,
            fixed=8_000,
            live_tail=2_000,
            covered_seq=covered,
            digest_seq=digest,
            items=items,
            user_texts=tuple(text for text in texts if text is not None),
            activity=tuple(one for one in history if covered < one.seq <= digest),
            activity_status=status,
            working_set=working_set(history, _TRIGGER * 3 // 100, _count),
            sections=sections,
            closing=closing_state(history, None),
            boundary=f"after message {history[-1].seq}",
        )
    )


def _best(work: Callable[[], object], times: int) -> float:
    best = float("inf")
    for _ in range(times):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best * 1_000


def _count(text: str) -> int:
    return total(estimate_text(text))


def _prose(dice: random.Random, words: int) -> str:
    return " ".join(dice.choices(_SENTENCE.split(), k=words))


def _history(dice: random.Random, tokens: int) -> list[Message]:
    history: list[Message] = []
    so_far = 0
    while so_far < tokens:
        seq = len(history) + 1
        path = f"src/module_{seq % 20}.py"
        result = "\n".join(["def first():", *(_prose(dice, 12) for _ in range(60))])
        call = ToolCall(
            "c", "read", {"path": path}, state="completed", result=(Text(result),), touches=(Touch(path, "read", (1, 61)),)
        )
        message = (
            Message(f"m{seq}", "user", "user", (Text(_prose(dice, 60)),), seq)
            if seq % 12 == 1
            else Message(f"m{seq}", "assistant", "model", (Text(_prose(dice, 40)), call), seq, finish=Finish.TOOL_CALLS)
        )
        history.append(count_message(message))
        so_far += total(message_tokens(history[-1]))
    return history


def _document(dice: random.Random, characters: int) -> str:
    parts = ["# Memory\n\nWhat the project knows.\n"]
    while sum(map(len, parts)) < characters:
        facts = "\n".join(f"- {_prose(dice, 14)}" for _ in range(12))
        parts.append(f"## Section {len(parts)}\n_what it holds_\n\n{facts}\n\n```sh\n# run\nmake\n```\n")
    return "\n".join(parts)[:characters]
