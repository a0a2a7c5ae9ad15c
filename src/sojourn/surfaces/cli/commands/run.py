"""``sojourn run``: one prompt, worked on without a screen of its own (S-1)."""

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from sojourn.base import UserMistake
from sojourn.record import Session, Store
from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.columns import wrapped
from sojourn.surfaces.cli.completing import complete_session
from sojourn.surfaces.cli.options import (
    complain,
    data_folders,
    documents,
    examples,
    hint,
    one_session,
    record,
    rules_offer,
    run_async,
    set_option,
    settings_for,
    window_size,
    words_said,
)
from sojourn.surfaces.cli.render import width

if TYPE_CHECKING:
    from sojourn.agent.session import How
    from sojourn.agent.types import TurnEnded
    from sojourn.config import Loaded, Settings
    from sojourn.models.types import Api, Choice
    from sojourn.surfaces.cli.running import Teller


class Wish(NamedTuple):
    """Which session a person wants: at most one of these."""

    newest: bool
    resumed: str | None
    forked: str | None


@click.command(
    "run",
    short_help="Give the agent a task and see it through, without a screen.",
    epilog=examples(
        'sojourn run "why does the login test fail?"',
        'sojourn run --mode accept-edits "fix it, then run the tests"',
        'sojourn run --continue "now update the changelog"',
        'git diff | sojourn run "review this change" -',
        "sojourn run --model ollama/qwen3-coder --output json - < task.md",
        'sojourn run --set \'permissions.allow=["bash(make *)"]\' "make it pass"',
    )
    + "\n\n\b\nExit codes:\n  0    finished\n  1    the work failed: refused by model or provider, or stopped\n"
    "  2    a mistake in the command\n  3    cut at the output limit\n"
    "  130  interrupted",
)
@click.argument("prompt", nargs=-1)
@click.option(
    "--model", metavar="PROVIDER/NAME", help="Which model; a bare name where it is clear, or scripted (no key needed)."
)
@click.option("--window", metavar="TOKENS", help="Size of the model's window, such as 64K; default: what is known of it.")
@click.option("--continue", "newest", is_flag=True, help="Go on with this folder's newest session, or begin one.")
@click.option(
    "--resume", "resumed", metavar="ID", shell_complete=complete_session, help="Go on with this session; last = the newest."
)
@click.option(
    "--fork", "forked", metavar="ID", shell_complete=complete_session, help="Begin a new session from this one's present view."
)
@click.option(
    "--mode",
    type=click.Choice(["ask", "accept-edits", "plan", "full"]),
    help="ask before changes; accept edits in this folder; plan: only look; full: ask nothing.",
)
@click.option(
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="json: one event a line, as it happens.",
)
@click.option(
    "--api", type=click.Choice(["anthropic", "chat", "responses", "gemini"]), help="Protocol that the endpoint speaks."
)
@click.option("--base-url", metavar="URL", help="Endpoint, such as http://localhost:8000/v1.")
@click.option(
    "--api-key", metavar="KEY", help="Key for it. Other users may see it here: a variable such as ANTHROPIC_API_KEY is safer."
)
@click.option("--mcs", type=click.Choice(["auto", "force", "off"]), help="Reminders as system messages in mid-conversation.")
@click.option(
    "--trust", "trusting", is_flag=True, help="Trust this folder from now on: its own settings and commands are heard."
)
@click.option("--json", "as_json", is_flag=True, help="The same as --output json.")
@set_option
@run_async
async def command(
    prompt: tuple[str, ...],
    model: str | None,
    window: str | None,
    newest: bool,
    resumed: str | None,
    forked: str | None,
    mode: str | None,
    output: str,
    api: "Api | None",
    base_url: str | None,
    api_key: str | None,
    mcs: str | None,
    trusting: bool,
    as_json: bool,
    overrides: tuple[str, ...],
) -> int:
    """Work on PROMPT until it is done, with the tools of this folder.

    The answer goes to standard output, everything else to standard error. PROMPT may be several words; - stands for
    standard input, which is also read where there is no PROMPT. Calls that need a question are asked for at a terminal;
    where nobody can answer they are not run, the model is told, and the end of the run lists them.

    Ctrl-C stops the turn; nothing is lost, --continue goes on. The session and its cost stay in the record: see
    `sojourn show last`, `sojourn cost last`.

    --json prints one object a line, an event each, as it happens.
    """
    from sojourn.models.types import Choice

    if mcs is not None:
        overrides = (*overrides, f"mid_conversation_system.mode={mcs}")
    loaded = settings_for(overrides)
    wish = Wish(newest, resumed, forked)
    _only_one(wish)
    choice = Choice(model, api, base_url, api_key, None if window is None else window_size(window))
    try:
        text, piped = _prompt(prompt)
    except UserMistake:
        if not trusting:
            raise
        await _heard(loaded, overrides, trusting=True, may_ask=False)  # --trust alone: nothing is to be done
        return 0
    settings, trusted = await _heard(loaded, overrides, trusting=trusting, may_ask=not piped, full=mode == "full")
    async with record(create=True) as store:
        await _offer_rules(store)
        how, session_id = await _session(store, wish)
        return await _turn(
            text,
            store,
            settings,
            choice,
            how=how,
            session_id=session_id,
            mode=mode,
            trusted=trusted,
            output="json" if as_json else output,
            may_ask=not piped,
        )


def _only_one(wish: Wish) -> None:
    if sum((wish.newest, wish.resumed is not None, wish.forked is not None)) > 1:
        raise UserMistake(say("run_one_session"), next_step=say("run_one_session_next"))


def _prompt(words: tuple[str, ...]) -> tuple[str, bool]:
    """The prompt, and whether standard input was read for it. Raises UserMistake where there is none."""
    if not words and sys.stdin.isatty():
        raise UserMistake(say("run_no_prompt"), next_step=say("run_no_prompt_next"))
    text = words_said(words or ("-",))
    if not text:
        raise UserMistake(say("run_no_prompt"), next_step=say("run_no_prompt_next"))
    return text, "-" in words or not words


async def _heard(
    loaded: "Loaded", overrides: tuple[str, ...], *, trusting: bool, may_ask: bool, full: bool = False
) -> tuple["Settings", bool]:
    """The settings in force, and whether the folder is trusted (Y-6). A person is asked once for each folder."""
    from sojourn.agent import trust
    from sojourn.config import load
    from sojourn.surfaces.cli.asking import at_terminal, says_yes

    here, config = Path.cwd(), data_folders().config
    answer = trust.answered(here, config)
    if trusting and answer is not True:
        hint(say("trust_kept", folder=trust.trust(here, config)))
        answer = True
    if answer is None and may_ask and at_terminal():
        answer = await says_yes(say("trust_question", folder=trust.trust_root(here)))
        trust.trust(here, config, yes=answer)
    own = load(project=None, overrides=overrides, environ=os.environ)
    if answer is not True:
        root = trust.trust_root(here)
        hint(say("trust_missing_full", folder=root) if full else say("trust_missing", folder=root))
        if ignored := trust.untrusted_keys(loaded, own):
            hint(wrapped(say("trust_ignored", keys=", ".join(ignored)), width()))
    return trust.settings_here(loaded, own, trusted=answer is True), answer is True


async def _offer_rules(store: Store) -> None:
    """Before the very first session: rules that the person keeps for another agent could be ours too (P-5)."""
    from sojourn.prefix import USER_RULES, found_elsewhere

    if (data_folders().config / USER_RULES).exists() or await store.sessions(limit=1):
        return
    if found := found_elsewhere(Path.home()):
        hint(rules_offer(found))


async def _session(store: Store, wish: Wish) -> tuple["How", str | None]:
    if wish.forked is not None:
        return "forked", (await one_session(store, wish.forked)).id
    if wish.resumed is not None:
        return "resumed", (await one_session(store, wish.resumed)).id
    if wish.newest:
        found = await _newest_here(store)
        if found is not None:
            return "continued", found.id
        hint(say("run_nothing_to_continue"))
    return "new", None


async def _newest_here(store: Store) -> Session | None:
    """The newest session of the agent's own in this folder."""
    from sojourn.engine.project import project_of

    here = str(Path.cwd().resolve())
    project = await asyncio.to_thread(project_of, here)
    own = [one for one in await store.sessions(project_id=project) if one.parent_id is None and one.source is None]
    return next((one for one in own if one.cwd == here), None)


async def _turn(
    prompt: str,
    store: Store,
    settings: "Settings",
    choice: "Choice",
    *,
    how: "How",
    session_id: str | None,
    mode: str | None,
    trusted: bool,
    output: str,
    may_ask: bool,
) -> int:
    """One turn of the agent, told as it goes; answers the exit code."""
    from sojourn.agent import Agent
    from sojourn.surfaces.cli.asking import TerminalAsker, at_terminal
    from sojourn.surfaces.cli.running import Teller, TextTeller, exit_code

    task = asyncio.current_task()
    stop = task.cancel if task is not None else lambda: False
    teller: Teller = (TextTeller if output == "text" else Teller)(stop)
    asker = TerminalAsker(Path.cwd()) if may_ask and at_terminal() else None
    try:
        agent = await Agent.open(
            store=store,
            settings=settings,
            choice=choice,
            cwd=Path.cwd(),
            how=how,
            session_id=session_id,
            mode=mode,
            trusted=trusted,
            asker=asker,
            on_event=teller,
            documents=documents(),
            keep_files=True,
        )
        try:
            ended: TurnEnded = await agent.turn(prompt)
        finally:
            await agent.close()
    except asyncio.CancelledError:
        teller.check()  # a reader that went away stopped us, no person
        raise
    teller.check()
    if asker is None:
        _tell_refused(teller, settings, mode, trusted=trusted)
    _tell_end(ended)
    return exit_code(ended)


def _tell_refused(teller: "Teller", settings: "Settings", mode: str | None, *, trusted: bool) -> None:
    from sojourn.agent.permissions import rules_of
    from sojourn.surfaces.cli.refused import refused_lines

    where = data_folders()
    lines = refused_lines(
        teller.denied,
        mode=mode or teller.mode,
        rules=rules_of(settings.permissions, (where.config, where.data)),
        root=Path.cwd(),
        trusted=trusted,
        given=mode is not None,
    )
    for line in lines:
        hint(line)


def _tell_end(ended: "TurnEnded") -> None:
    from sojourn.base import Finish

    if ended.error:
        complain(ended.error, ended.next_step)
    elif ended.finish is Finish.LENGTH:
        hint(say("run_cut"))
    elif ended.finish is Finish.INTERRUPTED:
        hint(say("run_stopped"))
