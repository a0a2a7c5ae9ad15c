"""An agent: one session with its model, its tools and the folder it works in."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Literal, get_args

import msgspec

from sojourn.agent.asking import Asker
from sojourn.agent.calling import Charge, Hands
from sojourn.agent.keeping import Kept
from sojourn.agent.mind import Mind
from sojourn.agent.notes import Notes
from sojourn.agent.permissions import Mode, hidden_patterns, parse_rule, rules_of
from sojourn.agent.prefixing import Look, Surroundings, with_more
from sojourn.agent.pricing import Pricing, prices_for
from sojourn.agent.resuming import check_place, fork_of, prefix_for, remember_files, settle_left_open
from sojourn.agent.rules import check_tools
from sojourn.agent.telling import as_agent_event
from sojourn.agent.turn import Turn
from sojourn.agent.turn_snapshots import Files
from sojourn.agent.types import AgentEvent, Noticed, SessionOpened, TurnEnded
from sojourn.agent.writing import connected, writer_by
from sojourn.base import Clock, Ids, SystemClock, UserMistake, finish_first
from sojourn.checkpoint import Writer
from sojourn.config import Folders, Settings, folders
from sojourn.engine import Engine, EngineEvent
from sojourn.engine.project import project_of
from sojourn.memory import LocalMemory
from sojourn.models.types import Choice, key_variable
from sojourn.prefix import Surface, load_style
from sojourn.record import Image, Message, Session, Store
from sojourn.reminders import check_off
from sojourn.tools import CORE, MEMORY, TASK, Desk, Tool
from sojourn.window import OpeningSection
from sojourn.wire import Model, Traits

How = Literal["new", "continued", "resumed", "forked"]
_WRITER_WAIT = 120_000
"""Milliseconds that a headless run waits for a running writer at its end (C-17)."""


class Agent:
    """Our own host of the engine. ``turn`` answers a prompt; everything that happens meanwhile comes as events.

    Not safe for use from several tasks at once. Ctrl-C: cancel the task that runs ``turn``; it settles what it can and
    answers INTERRUPTED, and the session goes on with the next turn.
    """

    def __init__(
        self,
        engine: Engine,
        model: Model,
        hands: Hands,
        notes: Notes,
        mind: Mind,
        kept: Kept,
        on_event: Callable[[AgentEvent], None],
        closing: AsyncExitStack,
    ) -> None:
        """Use ``Agent.open``."""
        self.engine = engine
        self.hands = hands
        self._model = model
        self._notes = notes
        self._mind = mind
        self._kept = kept
        self._on_event = on_event
        self._closing = closing
        self._pricing = Pricing(engine.traits)

    @classmethod
    async def open(  # noqa: PLR0913 (keyword-only ports, each optional)
        cls,
        *,
        store: Store,
        cwd: Path,
        settings: Settings | None = None,
        choice: Choice | None = None,
        model: Model | None = None,
        how: How = "new",
        session_id: str | None = None,
        mode: str | None = None,
        trusted: bool = False,
        asker: Asker | None = None,
        on_event: Callable[[AgentEvent], None] | None = None,
        tools: Sequence[Tool] | None = None,
        rare: Sequence[Tool] = (),
        system_prompt: str = "",
        surface: Surface = "terminal",
        writer: Writer | None = None,
        documents: Path | None = None,
        keep_files: bool = False,
        places: Folders | None = None,
        home: Path | None = None,
        environ: Mapping[str, str] = os.environ,
        clock: Clock | None = None,
        ids: Ids | None = None,
    ) -> "Agent":
        """Opens a session in a folder: a new one, or ``session_id`` continued, resumed or forked.

        ``model`` is taken as it is; without it ``choice`` finds one (A-4, A-5). ``mode`` None = as the session had it,
        or the settings. ``trusted``: whether a person trusts the folder; if not, every change and command is a question and
        none of the folder's text is system text (Y-6, M-R5). ``asker`` None = nobody is there to ask. ``rare`` tools stand
        behind ``more`` (P-8); where there are skills, ``skill`` stands beside ``tools`` (P-6). ``documents``: the folder of
        memory and of checkpoints as people read them; None = neither. ``keep_files``: the folder's files are kept around each
        turn that may change them, so that an undo takes them back (W-12). ``home``: the person's
        folder, None = as the system says.
        Raises UserMistake for what a person can mend: no key, an unknown model, a session that another process runs.
        """
        settings, clock, places = settings or Settings(), clock or SystemClock(), places or folders(environ)
        check_off(settings.reminders.off)
        tell = on_event or (lambda event: None)
        root = await asyncio.to_thread(cwd.resolve)
        async with AsyncExitStack() as opened:
            ours = model is None
            if model is None:
                model = await connected(choice or Choice(), environ, settings, store)
                opened.push_async_callback(model.close)
            if writer is None:
                writer = await _writer(model, environ, settings, store, opened)
            traits = with_mid_system(model.traits, settings.mid_conversation_system.mode)
            label = f"{traits.provider}/{traits.name}" if traits.provider else traits.name
            look = Look(
                model=label,
                surface=surface,
                style=load_style(settings.output_style, root, places.config, project=trusted)
                if settings.output_style
                else None,
                system_prompt=system_prompt,
                trusted=trusted,
                memory_root=documents,
            )
            listed = with_more((*CORE, *([MEMORY] if documents else []), TASK) if tools is None else tools, rare)
            surroundings = Surroundings(root, settings, places.config, listed, traits, look, clock, home)
            if how == "forked":
                session_id = await fork_of(store, session_id, settings, root)
            elif session_id is not None:
                await check_place(store, session_id, root)
            goes = await prefix_for(store, session_id, label, surroundings)
            began = Session(
                id="",
                project_id=await asyncio.to_thread(project_of, str(root)),
                cwd=str(root),
                model=label,
                mode=mode or settings.permissions.mode,
            )
            listeners = _Listeners(tell)
            engine = await Engine.open(
                store=store,
                session_id=session_id,
                session=began,
                traits=traits,
                settings=settings,
                prefix=goes.prefix,
                writer=writer,
                documents=documents,
                memory=LocalMemory(documents, clock=clock) if documents is not None else None,
                clock=clock,
                ids=ids,
                on_event=listeners.hear,
                present=listeners.present,
                refresh_prefix=surroundings.prefix,
                gather_sections=listeners.sections,
                prices=await prices_for(traits, settings),
            )
            opened.push_async_callback(engine.close, wait=0)
            session = engine.session
            await engine.set_model(traits, label=label)
            if goes.prefix is not None and goes.reason:
                await engine.change_prefix(goes.prefix, goes.reason)
            await settle_left_open(engine, clock.now())
            rules = rules_of(settings.permissions, (places.config, places.data))
            check_tools(rules, {tool.name for tool in (*surroundings.runnable, *rare)})
            charge = Charge(
                mode=engine.session.mode or settings.permissions.mode,
                rules=rules,
                trusted=trusted,
                given=mode is not None,
                granted=tuple(parse_rule(text) for text in session.grants),
            )
            mind = listeners.mind = Mind(
                engine, charge, settings, clock, documents, lambda: listeners.notes.turn_seq if listeners.notes else 0
            )
            if mode is not None and mode != session.mode:
                await mind.leave(session.mode, mode)
                await engine.set_mode(mode)
                charge.mode = mode
            desk = Desk(
                root,
                timeout=settings.tools.bash_timeout,
                history=_History(engine),
                put_blob=store.put_blob,
                environ=_without_keys(environ, settings),
                hidden=hidden_patterns(rules, root),
                memory=mind.memory,
                tasks=mind.tasks,
            )
            remember_files(desk, engine.in_view)
            kept = Kept(Files(places.data, root, clock=clock, environ=environ) if keep_files else None, engine, tell)
            await kept.settle()
            hands = Hands(surroundings.runnable, rare, desk, charge, asker, clock, kept.before_change)
            notes = Notes(engine, surroundings, desk, settings, clock, tell, session.mode, mind)
            listeners.notes = notes
            opened.push_async_callback(hands.close)
            _tell_opened(tell, engine, surroundings, how=how, model=label, mode=charge.mode, cwd=str(root))
            if not ours:
                opened.push_async_callback(model.close)
            return cls(engine, model, hands, notes, mind, kept, tell, opened.pop_all())

    @property
    def session_id(self) -> str:
        return self.engine.session_id

    @property
    def mode(self) -> str:
        """The permission mode in force (Y-6)."""
        return self.hands.charge.mode

    async def turn(self, prompt: str, images: tuple[Image, ...] = ()) -> TurnEnded:
        """Answers a prompt. Never raises for what a model, a provider or a tool does: ``error`` says it."""
        if not prompt.strip() and not images:
            raise UserMistake("the prompt is empty", next_step="Say what is to be done.")
        turn = Turn(self.engine, self._model, self.hands, self._notes, self._pricing, self._on_event)
        try:
            return await turn.run(prompt, images)
        finally:
            await finish_first(self._kept.after_turn())

    async def set_mode(self, mode: str) -> None:
        """Another permission mode from the next call on; the model is told by a reminder (P-7)."""
        if mode not in get_args(Mode):
            raise UserMistake(f"there is no mode {mode!r}", next_step=f"One of: {', '.join(get_args(Mode))}.")
        await self._mind.leave(self.mode, mode)
        self.hands.charge.mode = mode
        await self.engine.set_mode(mode)

    async def close(self, *, wait: int = _WRITER_WAIT) -> None:
        """Waits at most ``wait`` milliseconds for a writer (C-17), gives the session back, stops jobs, closes connections."""
        try:
            await self.engine.close(wait=wait)
        finally:
            await finish_first(self._closing.aclose())


async def _writer(model: Model, environ: Mapping[str, str], settings: Settings, store: Store, opened: AsyncExitStack) -> Writer:
    """The session's own model, or ``checkpoint.model``, whose connection is closed with the session."""
    if settings.checkpoint.model is None:
        return writer_by(model, forks=True)
    other = await connected(Choice(settings.checkpoint.model), environ, settings, store)
    opened.push_async_callback(other.close)
    return writer_by(other, forks=False)


def _tell_opened(
    tell: Callable[[AgentEvent], None], engine: Engine, surroundings: Surroundings, *, how: How, model: str, mode: str, cwd: str
) -> None:
    tell(
        SessionOpened(
            session_id=engine.session_id,
            how=how,
            model=model,
            limit=engine.traits.limit,
            mode=mode,
            cwd=cwd,
            window=engine.window.number,
            rules=surroundings.rules(),
        )
    )
    for diagnostic in surroundings.warnings():
        tell(Noticed("prefix_warning", {"message": diagnostic.message, "path": diagnostic.path}))


def _without_keys(environ: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """The environment without the keys of ``model.servers``; those of known providers the desk takes out itself."""
    hidden = {key_variable(server) for server in settings.model.servers}
    return {name: value for name, value in environ.items() if name.upper() not in hidden}


class _History:
    """The session's record, as the ``history`` tool asks for it (R-13)."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.search = engine.search
        self.read = engine.read

    async def blob(self, prefix: str) -> bytes | None:
        return await self._engine.store.find_blob(self._engine.session_id, prefix)


def with_mid_system(traits: Traits, mode: str) -> Traits:
    """Q-6: ``force`` still obeys the protocol, ``off`` is off, ``auto`` is what is known of the model."""
    if mode == "auto":
        return traits
    return msgspec.structs.replace(traits, mid_system=mode == "force" and traits.protocol != "gemini")


class _Listeners:
    """Who hears what the engine does: the reader of events, and the notes once they are there."""

    def __init__(self, tell: Callable[[AgentEvent], None]) -> None:
        self._tell = tell
        self.notes: Notes | None = None
        self.mind: Mind | None = None

    async def sections(self) -> Sequence[OpeningSection]:
        return await self.mind.sections() if self.mind is not None else ()

    def hear(self, event: EngineEvent) -> None:
        if self.notes is not None:
            self.notes.heard(event)
        translated = as_agent_event(event)
        if translated is not None:
            self._tell(translated)

    def present(self, message: Message) -> Sequence[Message]:
        return self.notes.arrived(message) if self.notes is not None else (message,)
