"""Options that several commands share, and what stands behind them: settings, the store, output."""

import asyncio
import functools
import os
import shlex
import signal
import stat
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from sojourn.base import SojournError, SystemClock, UserMistake, parse_quantity
from sojourn.config import Folders, Loaded, Settings, ensure_private, folders, load, project_folder
from sojourn.record import Session, Store
from sojourn.surfaces.catalogue import say, speak
from sojourn.surfaces.cli.columns import harmless
from sojourn.surfaces.cli.completing import complete_session

if TYPE_CHECKING:
    from sojourn.engine import Engine, EngineEvent

T = TypeVar("T")

MOST = 2**31 - 1
"""The largest number that an option takes: what SQLite and the clock can count."""

_LINE_ENDS = {code: f"\\u{code:04x}" for code in (0x85, 0x2028, 0x2029)}


class FilePath(click.Path):
    """A path as it was typed: what is wrong with it is told when it is used."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return Path(value)


def message_number(value: str) -> int:
    """The type of an option that names a message as reports show it: ``m12``, or its number alone."""
    digits = value.removeprefix("m")
    if not (digits.isascii() and digits.isdigit()) or not 1 <= int(digits) <= MOST:
        raise UserMistake(say("no_message_number", value=value), next_step=say("no_message_number_next"))
    return int(digits)


def _speak_first(ctx: click.Context, param: click.Parameter, overrides: tuple[str, ...]) -> tuple[str, ...]:
    """What is wrong with the other options is told in the language of the settings."""
    if not ctx.resilient_parsing:
        settings_for(overrides)
    return overrides


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
set_option = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    is_eager=True,
    callback=_speak_first,
    help="Override a setting, such as compaction.policy=economy.",
)
session_argument = click.argument("session", metavar="ID", shell_complete=complete_session)
window_option = click.option(
    "--window", metavar="TOKENS", help="Size of the model's window, such as 64K; default: 128K is assumed."
)


def examples(*lines: str) -> str:
    """The end of a help page."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def run_async(function: Callable[..., Coroutine[Any, Any, T]]) -> Callable[..., T]:
    """A click callback as a coroutine. Interrupted, it is cancelled at its next wait and cleans up."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> T:
        return asyncio.run(function(*args, **kwargs))

    return wrapper


def with_options(function: Callable[..., Coroutine[Any, Any, T]]) -> Callable[..., T]:
    """What nearly every command ends with: ``--json``, ``--set``, and its coroutine run."""
    return json_option(set_option(run_async(function)))


def run_in_memory(function: Callable[..., Coroutine[Any, Any, T]]) -> Callable[..., T]:
    """As ``run_async``, for work that leaves nothing behind: it computes for long without a wait, so that an interrupt
    ends it on the spot."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> T:
        before = signal.getsignal(signal.SIGINT)
        if before is not signal.default_int_handler:
            return asyncio.run(function(*args, **kwargs))
        # asyncio replaces the default handler only.
        signal.signal(signal.SIGINT, _interrupt)
        try:
            return asyncio.run(function(*args, **kwargs))
        finally:
            signal.signal(signal.SIGINT, before)

    return wrapper


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def settings_for(overrides: tuple[str, ...] = ()) -> Loaded:
    """The configuration in force here; every command takes ``--set``. From now on we speak its language."""
    try:
        here: Path | None = project_folder(Path.cwd())
    except FileNotFoundError:  # the folder was removed under us
        here = None
    loaded = load(project=here, overrides=overrides, environ=os.environ)
    speak(loaded.settings.language)
    return loaded


def data_folders() -> Folders:
    return folders(os.environ)


def database() -> Path:
    """Where the record is, or will be."""
    return data_folders().data / "sojourn.db"


def documents() -> Path:
    """Where checkpoints stand as files (K-1)."""
    return data_folders().data / "memory"


@asynccontextmanager
async def record(*, create: bool = False) -> AsyncIterator[Store]:
    """The record on disk. Without ``create`` a record that is not there yet is a mistake with a next step."""
    from sojourn.record.sqlite import SqliteStore

    path = database()
    if not create and not path.exists():
        raise UserMistake(say("no_record", path=path), next_step=say("import_first"))
    ensure_private(path.parent)
    store = await SqliteStore.open(path, clock=SystemClock())
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def recorded(named: str) -> AsyncIterator[tuple[Store, Session]]:
    """The record, and the session in it that a command is about (``one_session``)."""
    async with record() as store:
        yield store, await one_session(store, named)


@asynccontextmanager
async def opened(
    store: Store, session: Session, settings: Settings, window: str | None, *, read_only: bool = False
) -> AsyncIterator["Engine"]:
    """The session's engine; ``read_only`` looks without taking the lease."""
    from sojourn.engine import Engine
    from sojourn.engine.looking import last_traits
    from sojourn.memory import LocalMemory
    from sojourn.wire import Traits

    traits = await last_traits(store, session.id) or Traits(name=session.model)
    if window is not None:
        traits = msgspec.structs.replace(traits, limit=window_size(window), limit_source="command line")
    engine = await Engine.open(
        store=store,
        session_id=session.id,
        traits=traits,
        settings=settings,
        documents=documents(),
        memory=LocalMemory(documents()),
        on_event=tell_event,
        read_only=read_only,
    )
    async with engine:
        yield engine


def tell_event(event: "EngineEvent") -> None:
    """What the engine did or could not do on its own, told to the person (C-14)."""
    from sojourn.surfaces.cli.notices import notice

    if event.kind == "notice":
        detail = dict(event.detail)
        hint(notice(str(detail.pop("key", "")), detail))


async def one_session(store: Store, named: str) -> Session:
    """The session that an id, the beginning of one, or a foreign id names; ``last`` = the newest."""
    found = await (store.sessions(limit=1) if named == "last" else store.find(named))
    if not found and named == "last":
        raise UserMistake(say("no_sessions"), next_step=say("import_first"))
    if not found:
        raise UserMistake(say("no_such_session", name=named), next_step=say("list_sessions"))
    if len(found) > 1:
        ids = ", ".join(session.id for session in found[:5]) + (", ..." if len(found) > 5 else "")
        raise UserMistake(say("ambiguous", name=named, count=len(found), ids=ids), next_step=say("more_of_the_id"))
    return found[0]


def held_by(owner: str) -> str:
    """The holder of a lease (``host:pid:...``) for people."""
    host, pid, *_ = [*owner.split(":"), "?", "?"]
    return say("process_on", pid=pid, host=host)


def amount(value: str, key: str) -> int:
    """Tokens from ``64K``; raises UserMistake."""
    return parse_quantity(value, key=key)


def window_size(value: str) -> int:
    """Tokens of ``--window``; raises UserMistake for one that no session fits in (C-1)."""
    from sojourn.cycle.lines import SMALLEST_WINDOW

    size = amount(value, "--window")
    if size < SMALLEST_WINDOW:
        raise UserMistake(say("window_too_small", size=size, least=SMALLEST_WINDOW), next_step=say("window_too_small_next"))
    return size


def print_json(value: object) -> None:
    """One JSON document on one line, also for readers that know more line ends than LF."""
    try:
        text = msgspec.json.encode(value).decode()
    except (UnicodeEncodeError, msgspec.MsgspecError):
        import json

        text = json.dumps(msgspec.to_builtins(value))
    sys.stdout.write(text.translate(_LINE_ENDS) + "\n")


def whole(row: msgspec.Struct) -> dict[str, Any]:
    """All fields of a row for JSON, those with their default too: a program need not know the defaults."""
    return {name: msgspec.to_builtins(value) for name, value in msgspec.structs.asdict(row).items()}


# --- files --------------------------------------------------------------------------------------------------------


async def each_file(files: Sequence[Path], work: Callable[[Path], Coroutine[Any, Any, None]]) -> int:
    """Does the work for every file. One that fails is told at once, the others are still done; the worst exit code."""
    worst = 0
    for path in files:
        try:
            await work(readable(path, transcript=True))
        except SojournError as error:
            sys.stdout.flush()
            complain(str(error), error.next_step)
            worst = max(worst, error.exit_code)
    return worst


def readable(path: Path, *, transcript: bool = False) -> Path:
    """The path, if it is a file that can be read; raises UserMistake otherwise, with a next step for what it was to be."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise UserMistake(say("no_file", path=path), next_step=say("check_path")) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = error.strerror if isinstance(error, OSError) else error
        told = say("file_refused", path=_visible(path), reason=reason)
        raise UserMistake(told, next_step=say("check_permissions")) from error
    if stat.S_ISDIR(mode):
        raise UserMistake(say("is_folder", path=path), next_step=say("name_a_transcript") if transcript else say("name_a_file"))
    if not stat.S_ISREG(mode):
        raise UserMistake(
            say("no_plain_file", path=path), next_step=say("save_transcript_first") if transcript else say("save_it_first")
        )
    if not os.access(path, os.R_OK):
        raise UserMistake(say("no_permission", path=path), next_step=say("check_permissions"))
    return path


def writable(path: Path) -> Path:
    """The path, if a file can be put there; raises UserMistake otherwise, before any long work."""
    try:
        good = path.parent.is_dir() and not path.is_dir()
    except (OSError, ValueError):
        good = False
    if not good or "\0" in str(path):
        raise UserMistake(say("no_place", path=_visible(path)), next_step=say("name_another_file"))
    return path


def _visible(path: Path) -> str:
    return str(path).replace("\0", "\\0")


# --- the person ---------------------------------------------------------------------------------------------------


def complain(message: str, next_step: str = "") -> None:
    """An error on standard error: what happened, then what to do."""
    painted = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    sys.stderr.write((click.style("sojourn:", fg="red", bold=True) if painted else "sojourn:") + f" {harmless(message)}\n")
    if next_step:
        sys.stderr.write(f"  {harmless(next_step)}\n")


def hint(message: str) -> None:
    """A word beside the result, on standard error."""
    sys.stderr.write(harmless(message) + "\n")


def rules_offer(found: Sequence[Path]) -> str:
    """Rules that a person keeps for other agents, and the command that copies them to ours (P-5)."""
    command = f"sojourn doctor --copy-rules {shlex.quote(str(found[0]))}"
    return say("rules_offer", paths=", ".join(map(str, found)), command=command)


def words_said(words: Sequence[str]) -> str:
    """The words as one text; where one of them is ``-``, what standard input holds stands below. Empty = nothing but blanks."""
    said = " ".join(word for word in words if word != "-")
    typed = sys.stdin.buffer.read().decode("utf-8-sig", "replace") if "-" in words else ""
    return "\n\n".join(piece for piece in (said, typed.strip("\n")) if piece.strip())


def confirm(question: str) -> None:
    """Asks before something that cannot be undone. Raises UserMistake where nobody answers or the answer is no."""
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    # A cancelled task would not end the read: while a person thinks, an interrupt is one.
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, _interrupt)
    try:
        answer = sys.stdin.readline()
    finally:
        signal.signal(signal.SIGINT, before)
    if not answer:
        sys.stderr.write("\n")
        raise UserMistake(say("nobody_answered"), next_step=say("give_yes"))
    if answer.strip().lower() not in ("y", "yes", "是"):
        raise UserMistake(say("left_alone"), next_step=say("ask_again"))
