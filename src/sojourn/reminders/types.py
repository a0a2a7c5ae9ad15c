"""What the engine may tell the model between two messages: the kinds, the facts they rest on, one that is due (M-R1)."""

from typing import Literal

import msgspec

Channel = Literal["request_prefix", "current_turn", "mid_turn_event", "tool_result", "history_continuity", "real_user"]
"""``history_continuity`` keeps the place in which it came about; ``real_user`` stands for the user's word and comes last;
``request_prefix`` and ``tool_result`` are written by other rooms and never placed between messages."""
Lifetime = Literal["prefix", "turn", "event", "history"]


class Source(msgspec.Struct, frozen=True):
    """One kind of reminder: who says it, where it may stand, whether it is on."""

    name: str
    channel: Channel
    lifetime: Lifetime
    may_be_mid_system: bool
    """Written by the engine alone, so it may carry system authority (M-R5)."""
    bubbles: bool
    """Stands before the user's message of its turn rather than behind it, where it is not a system message."""
    on: bool = True


class Due(msgspec.Struct, frozen=True):
    """A reminder that is to be placed now."""

    source: str
    body: str
    """Without tags around it."""
    quoted: bool = False
    """Holds words that the engine did not write: never a system message, whatever its kind may be (M-R5)."""


class Todo(msgspec.Struct, frozen=True):
    text: str
    status: str
    """``open``, ``in_progress``, ``blocked``, ``done``, ``abandoned``."""


class Job(msgspec.Struct, frozen=True):
    """A background job that has ended."""

    id: str
    what: str
    state: str
    """``completed``, ``failed``, ``orphaned``, ``cancelled``."""
    note: str = ""
    """Where its output is, or the first line of its failure."""
    started: int = 0
    """Milliseconds since the epoch; 0 = unknown: then one of the same number, name and end counts as told already."""


class Hook(msgspec.Struct, frozen=True):
    """What hooks of one event gave back."""

    event: Literal["session start", "prompt submit", "stop"]
    texts: tuple[str, ...]


class Attached(msgspec.Struct, frozen=True):
    """What came with the user's message: a file (shown as a read) or a text (marked as data)."""

    name: str
    text: str
    kind: Literal["file", "text"] = "file"
    first_line: int = 1
    cut: bool = False
    """Only its beginning stands here."""


class Plugin(msgspec.Struct, frozen=True):
    """A plugin that the input named, with what it offers."""

    name: str
    skills: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    actors: tuple[str, ...] = ()


class Rule(msgspec.Struct, frozen=True):
    """A rule file of a folder that work has just reached (P-5)."""

    path: str
    text: str


class RuleChange(msgspec.Struct, frozen=True):
    path: str
    at: str
    """Local time at which it was noticed, ``14:05``."""
    sha: str = ""
    """Hash of what the file holds now; empty = unknown: then every change of this path counts as the same one."""


class Goal(msgspec.Struct, frozen=True):
    state: Literal["set", "paused", "resumed", "cleared"]
    text: str = ""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """How things stand at one step, taken from live state each time (never from what was said before)."""

    opened_at_seq: int = 0
    """Of the view's window: reminders at or before it are gone (W-2); 0 = the first one, which had none before it."""
    off: tuple[str, ...] = ()
    """Kinds that are switched off."""
    continuing: bool = False
    """An output that was cut is being continued: nothing is due (M-R8)."""
    turn_start: bool = False
    """The first step of a turn."""
    turn_seq: int = 0
    """The seq of the message that began the turn; 0 = it is not stored yet, or the window opened since."""
    user_waits: bool = False
    """A message of the user is placed together with what is due."""
    # --- state ---
    mode: str = "ask"
    mode_told: str = ""
    """The mode that stood in the opening; empty = none was told."""
    plan_left: bool = False
    """Plan mode was left in this very step."""
    tools: tuple[str, ...] = ()
    todo_tool: str = "task"
    todos: tuple[Todo, ...] = ()
    """Those that are not over."""
    today: str = ""
    """Local date, ISO."""
    date_told: str = ""
    """The date that the prefix names."""
    style: str = ""
    recall: str = ""
    """Body of M-R7's reminder; empty = there is neither memory nor a task."""
    git: str = ""
    """The branch now; empty = unknown or no repository."""
    git_told: str = ""
    """The branch that the prefix names."""
    shell: str = ""
    shell_told: str = ""
    tools_late: tuple[str, ...] = ()
    """In reach now, absent when the window's tools were frozen."""
    tools_gone: tuple[str, ...] = ()
    """Among the frozen tools, out of reach now."""
    checkpoint_failed: bool = False
    cache_lost: bool = False
    window_opened: bool = False
    """The view was rebuilt since the last step."""
    plan_file: Rule | None = None
    """The accepted plan, where the opening does not hold it."""
    files_before: tuple[Attached, ...] = ()
    """Files read before the window opened, where the opening does not hold them."""
    # --- events of this step ---
    jobs: tuple[Job, ...] = ()
    """Ended, as the registry has them; told once each."""
    rules_changed: tuple[RuleChange, ...] = ()
    rules_reached: tuple[Rule, ...] = ()
    hooks: tuple[Hook, ...] = ()
    sessions: tuple[str, ...] = ()
    """Ids that the input refers to."""
    attached: tuple[Attached, ...] = ()
    plugins: tuple[Plugin, ...] = ()
    goal: Goal | None = None
    """It has changed."""
    goal_restated: str = ""
    """The goal of a session that was just resumed."""
    goal_continues: str = ""
    """The goal for which this turn goes on without the user."""
    rewound_to: int | None = None
    """The newest seq that is left after a turn was taken back."""
    forked: bool = False
    side_chat: bool = False
