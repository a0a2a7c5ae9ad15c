"""``sojourn memory``: what is known durably, for a person to read, search, mend and take back (Y-1, K-12)."""

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sojourn.base import SystemClock, UserMistake
from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.columns import harmless, one_line
from sojourn.surfaces.cli.completing import complete_document, complete_session
from sojourn.surfaces.cli.options import (
    MOST,
    documents,
    examples,
    hint,
    json_option,
    one_session,
    print_json,
    record,
    run_async,
    set_option,
    settings_for,
    words_said,
)

if TYPE_CHECKING:
    from sojourn.memory import Document, Scope
    from sojourn.surfaces.cli.memories import Look

F = TypeVar("F", bound=Callable[..., Any])

_session_option = click.option(
    "--session", metavar="ID", shell_complete=complete_session, help="This session's notes and project too."
)
_of_option = click.option("--of", metavar="FOLDER", help="The project of this folder instead.")
_path_argument = click.argument("path", metavar="PATH", shell_complete=complete_document)
_scope_option = click.option("--scope", type=click.Choice(["session", "project", "global"]), help="Only what belongs to it.")
_PATHS = """PATH is project, global, notes (with --session), facts/NAME, or a path as `sojourn memory list` shows it."""


def _whose(function: F) -> F:
    return _session_option(_of_option(json_option(set_option(function))))


@click.group(
    "memory",
    short_help="What is known durably: list, search, show, edit, take back.",
    epilog=examples(
        "sojourn memory list",
        "sojourn memory search 水位 gauge",
        "sojourn memory show project",
        'sojourn memory add "Releases are cut from main on Tuesdays."',
        "sojourn memory history project --restore 1",
    ),
)
def command() -> None:
    """Documents that outlive their session: plain Markdown files, which you may also edit with any editor.

    They are this folder's project's and the global ones; with --session ID that session's notes too. Another project's
    are seen only when it is named: --of FOLDER. With --json each command prints one document.
    """


@command.command(
    "list",
    short_help="The documents, a line each.",
    epilog=examples("sojourn memory list", "sojourn memory list --session last --json"),
)
@_scope_option
@_whose
@run_async
async def list_command(
    scope: "Scope | None", session: str | None, of: str | None, as_json: bool, overrides: tuple[str, ...]
) -> None:
    """Every document, newest first: its path, its size in tokens, its title.

    --json prints one document: {"root", "documents", "unreadable"}.
    """
    from sojourn.surfaces.cli.memories import entries_report, entry_json, look, too_long

    settings_for(overrides)
    async with look(session, of) as memory:
        found = await memory.store.entries(memory.belonging, scope)
        faults = await memory.faults()
    if as_json:
        rows = [entry_json(memory, one) for one in found]
        print_json({"root": str(memory.root), "documents": rows, "unreadable": faults})
        return
    if found:
        click.echo(entries_report(memory, found))
    else:
        hint(say("memory_empty"))
    for warning in too_long(memory, found):
        hint(warning)
    _tell_faults(faults)


@command.command(
    "search",
    short_help="Find documents by words.",
    epilog=examples("sojourn memory search deploy key", "sojourn memory search 水位 --limit 3"),
)
@click.argument("words", nargs=-1, required=True)
@_scope_option
@click.option("--limit", type=click.IntRange(1, MOST), default=10, show_default=True)
@_whose
@run_async
async def search_command(
    words: tuple[str, ...],
    scope: "Scope | None",
    limit: int,
    session: str | None,
    of: str | None,
    as_json: bool,
    overrides: tuple[str, ...],
) -> None:
    """Find documents by words, the best first, each with the line where the words stand.

    --json prints one document: {"hits", "unreadable"}.
    """
    from sojourn.surfaces.cli.memories import hit_json, hits_report, look

    settings_for(overrides)
    if not "".join(words).strip():
        raise UserMistake(say("search_nothing"), next_step=say("search_nothing_next"))
    async with look(session, of) as memory:
        hits = await memory.store.search(" ".join(words), memory.belonging, scope=scope, limit=limit)
        faults = await memory.faults()
    if as_json:
        print_json({"hits": [hit_json(memory, hit) for hit in hits], "unreadable": faults})
        return
    if hits:
        click.echo(hits_report(memory, hits))
    else:
        hint(say("nothing_found"))
    _tell_faults(faults)


@command.command(
    "show",
    short_help="Print a document.",
    epilog=examples("sojourn memory show project", "sojourn memory show notes --session last"),
    help=f"Print a document.\n\n{_PATHS}\n\n--json prints one document: its fields and its text.",
)
@_path_argument
@_whose
@run_async
async def show_command(path: str, session: str | None, of: str | None, as_json: bool, overrides: tuple[str, ...]) -> None:
    from sojourn.surfaces.cli.memories import document_json, look

    settings_for(overrides)
    async with look(session, of) as memory:
        found = await _there(memory, path)
    if as_json:
        print_json(document_json(memory, found))
    else:
        click.echo(harmless(found.text), nl=not found.text.endswith("\n"))


@command.command(
    "edit",
    short_help="Open a document in your editor.",
    epilog=examples("sojourn memory edit project", "sojourn memory edit notes --session last --from notes.md"),
    help=f"""Open a document in your editor. The text that it replaces is kept: see `sojourn memory history`.

{_PATHS}

If the document was changed while you wrote, nothing is written, and what you wrote is kept.
--json prints one document: the new one, with "changed".""",
)
@_path_argument
@click.option("--from", "source", metavar="FILE", help="Take the whole text from a file; - = standard input.")
@_whose
@run_async
async def edit_command(
    path: str, source: str | None, session: str | None, of: str | None, as_json: bool, overrides: tuple[str, ...]
) -> None:
    from sojourn.surfaces.cli.editor import applying, edited, from_file
    from sojourn.surfaces.cli.memories import document_json, look

    settings_for(overrides)
    async with look(session, of) as memory:
        locator = memory.locator(path)
        before = await memory.store.read(locator)
        text = before.text if before else ""
        again = f"sojourn memory edit {_named(path, session, of)} --from"
        if source is not None:
            made = from_file(source)
        else:
            made = edited(text, f"{locator.key.rpartition('/')[2]}.md", instead=f"{again} FILE")
        with applying(made, again):
            changed = made.text != text
            expected = before.sha if before else None
            after = await memory.store.write(locator, made.text, who="user", expected=expected) if changed else before
    if as_json:
        print_json({"changed": changed, **(document_json(memory, after) if after else {})})
    elif changed and after is not None:
        click.echo(say("memory_saved", path=memory.shown(after.path)))
        if before is not None:
            hint(say("memory_replaced", path=_named(path, session, of)))
    else:
        hint(say("nothing_edited"))


@command.command(
    "history",
    short_help="Earlier texts of a document; put one back.",
    epilog=examples("sojourn memory history project", "sojourn memory history project --restore 2"),
    help=f"""Earlier texts of a document, newest first: when each was replaced and by whom.

{_PATHS}

--json prints one document: {{"path", "versions"}}, with --restore the document as it is now.""",
)
@_path_argument
@click.option("--number", type=click.IntRange(1, MOST), metavar="N", help="Print this earlier text.")
@click.option("--restore", type=click.IntRange(1, MOST), metavar="N", help="Put this text back; the present one is kept.")
@_whose
@run_async
async def history_command(
    path: str,
    number: int | None,
    restore: int | None,
    session: str | None,
    of: str | None,
    as_json: bool,
    overrides: tuple[str, ...],
) -> None:
    from sojourn.surfaces.cli.memories import document_json, look, version_json, versions_report

    settings_for(overrides)
    if number is not None and restore is not None:
        raise UserMistake(say("memory_number_or_restore"), next_step=say("run_one_session_next"))
    async with look(session, of) as memory:
        locator = memory.locator(path)
        now = await memory.store.read(locator)
        versions = list(await memory.store.versions(locator))
        if now is None and not versions:
            raise UserMistake(say("memory_not_there", path=path), next_step=say("no_memory_path_next"))
        wanted = number or restore
        if wanted is not None and wanted > len(versions):
            told = say("no_version", path=path, number=wanted, count=len(versions))
            raise UserMistake(told, next_step=say("no_version_next", path=path))
        if restore is not None:
            expected = now.sha if now else None
            now = await memory.store.write(locator, versions[restore - 1].text, who="user", expected=expected)
    if restore is not None and now is not None:
        if as_json:
            print_json(document_json(memory, now))
        else:
            click.echo(say("memory_restored", path=memory.shown(now.path), number=restore))
    elif number is not None:
        one = versions[number - 1]
        if as_json:
            print_json(version_json(number, one))
        else:
            click.echo(harmless(one.text), nl=not one.text.endswith("\n"))
    elif as_json:
        rows = [version_json(at, one) for at, one in enumerate(versions, 1)]
        print_json({"path": memory.shown(now.path) if now else path, "versions": rows})
    elif versions:
        click.echo(versions_report(versions))
    else:
        hint(say("no_versions", path=path))


@command.command(
    "add",
    short_help="Add a text to the project's memory, or to a session's notes.",
    epilog=examples(
        'sojourn memory add "Tests need Node 20."',
        "sojourn memory add --global -",
        'sojourn memory add --session last "Ask before you touch the importer."',
    ),
)
@click.argument("words", metavar="TEXT", nargs=-1, required=True)
@click.option("--global", "everywhere", is_flag=True, help="For every project.")
@click.option("--session", metavar="ID", shell_complete=complete_session, help="To this session's notes instead.")
@_of_option
@json_option
@set_option
@run_async
async def add_command(
    words: tuple[str, ...],
    everywhere: bool,
    session: str | None,
    of: str | None,
    as_json: bool,
    overrides: tuple[str, ...],
) -> None:
    """Add TEXT to the project's memory, at its end: the next window that opens shows it. TEXT may be several words; -
    stands for standard input. With --session it is a note of yours among that session's notes, which its next checkpoint
    takes in.

    --json prints one document: the one it was added to.
    """
    from sojourn.surfaces.cli.memories import document_json, look

    settings_for(overrides)
    if sum((everywhere, session is not None, of is not None)) > 1:
        raise UserMistake(say("memory_one_place"), next_step=say("memory_one_place_next"))
    text = words_said(words)
    if not text:
        raise UserMistake(say("memory_nothing"), next_step=say("memory_nothing_next"))
    async with look(session, of) as memory:
        if session is not None:
            after = await _noted(memory, text)
        else:
            after = await memory.store.append(memory.locator("global" if everywhere else "project"), text, who="user")
    if as_json:
        print_json(document_json(memory, after))
    else:
        click.echo(say("memory_added", path=memory.shown(after.path)))


@command.command(
    "path",
    short_help="The folder of all memory.",
    epilog=examples("sojourn memory path", 'grep -r deploy "$(sojourn memory path)"'),
)
@json_option
@set_option
def path_command(as_json: bool, overrides: tuple[str, ...]) -> None:
    """Print the folder in which all memory stands as files.

    --json prints one document: {"root"}.
    """
    settings_for(overrides)
    if as_json:
        print_json({"root": str(documents())})
    else:
        click.echo(documents())


async def _noted(memory: "Look", text: str) -> "Document":
    """A note of the person's, under the turn that the session is in."""
    from sojourn.memory import append_note

    session_id = memory.belonging.session_id
    async with record() as store:
        session = await one_session(store, session_id)
        turns = await store.turns(session_id, upto=session.head, limit=1)
    turn = turns[0].message.seq if turns else 0
    return await append_note(memory.store, session_id, text, turn=turn, now=SystemClock().now(), who="user")


async def _there(memory: "Look", path: str) -> "Document":
    found = await memory.store.read(memory.locator(path))
    if found is None:
        raise UserMistake(say("memory_not_there", path=path), next_step=say("no_memory_path_next"))
    return found


def _named(path: str, session: str | None, of: str | None) -> str:
    """The document as another command of ours takes it."""
    words = [path, *(["--session", session] if session else []), *(["--of", of] if of else [])]
    return shlex.join(words)


def _tell_faults(faults: list[str]) -> None:
    """A file that is skipped is a visible fault (report 83)."""
    if faults:
        hint("\n".join([say("memory_faults", count=len(faults)), *(f"  {one_line(fault)}" for fault in faults)]))
