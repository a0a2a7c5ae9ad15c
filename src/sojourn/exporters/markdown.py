"""A session for people to read (R-14)."""

import html
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from sojourn.exporters.words import BlobReader, clean, is_speech, label, outcome, texts
from sojourn.record import File, Image, Message, Notice, Part, Session, Text, ToolCall

MAX_RESULT = 2_000
"""Characters of a result that are shown; of a longer one the first 1,500 and the last 500."""
_HEAD = 1_500
_TAIL = 500
_SUBJECT = ("file_path", "path", "command", "cmd", "pattern", "query", "url", "description")
_RUN = re.compile("`+")


def to_markdown(session: Session, messages: Iterable[Message], blob: BlobReader) -> Iterator[str]:
    """Chunks of Markdown: the person's words quoted as they are, answers as they are, each call folded into a line.

    What an engine said, reminders and thinking are left out; what another program wrote is folded under its kind.
    """
    yield f"# {_one_line(session.title) or 'Untitled session'}\n\n{_facts(session)}\n"
    speaker = ""
    for message in messages:
        if not is_speech(message):
            if message.origin == "import":
                yield from _note(message)
                speaker = ""
            continue
        chunks = [chunk for part in message.parts for chunk in _part(message, part, blob)]
        if not chunks:
            continue
        heading = "User" if message.role == "user" else "Assistant"
        if heading != speaker or message.role == "user":
            yield f"\n## {heading}\n"
            speaker = heading
        yield from chunks


def _facts(session: Session) -> str:
    made = _time(session.created)
    facts = [f"Session `{session.id}`", f"begun {made}" if made else "", f"model {session.model}" if session.model else ""]
    return clean(", ".join(fact for fact in facts if fact))


def _time(millis: int) -> str:
    return datetime.fromtimestamp(millis / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC") if millis else ""


def _part(message: Message, part: Part, blob: BlobReader) -> Iterator[str]:
    if isinstance(part, Text):
        if part.text:
            yield "\n" + (_quoted(part.text) if message.role == "user" else clean(part.text)) + "\n"
    elif isinstance(part, ToolCall):
        yield _folded(_summary(part), _cut(outcome(part)))
    elif isinstance(part, Notice):
        yield f"\n*{_one_line(part.text)}*\n"
    elif isinstance(part, (Image, File)):
        missing = "" if blob(part.blob) is not None else " (its data is not there)"
        yield f"\n{label(part)}{missing}\n"


def _note(message: Message) -> Iterator[str]:
    text = texts(message.parts)
    if text:
        yield _folded(f"note of the other program: {message.source or 'no kind'}", _cut(text))


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" if line else ">" for line in clean(text).split("\n"))


def _summary(call: ToolCall) -> str:
    subject = next((str(call.arguments[key]) for key in _SUBJECT if call.arguments.get(key)), call.raw_arguments)
    return f"{call.name} {_one_line(subject)[:100]}".rstrip() + f" ({call.state})"


def _folded(summary: str, body: str) -> str:
    longest = max((len(run) for run in _RUN.findall(body)), default=0)
    fence = "`" * max(3, longest + 1)
    shown = f"{fence}\n{body}\n{fence}\n" if body else "(no output)\n"
    return f"\n<details><summary>{html.escape(_one_line(summary), quote=False)}</summary>\n\n{shown}\n</details>\n"


def _cut(text: str) -> str:
    if len(text) <= MAX_RESULT:
        return text
    left_out = len(text) - _HEAD - _TAIL
    return f"{text[:_HEAD]}\n[... {left_out:,} characters left out ...]\n{text[-_TAIL:]}"


def _one_line(text: str) -> str:
    return " ".join(clean(text).split())
