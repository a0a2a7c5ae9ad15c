"""Every setting, typed, with its default, its range and its meaning (S-9). Docs and ``--help`` are made from this."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Amount = int | float | str
"""Tokens: ``64000``, ``"64K"``, ``"1.5M"``; where said, a percentage such as ``"40%"``."""

Policy = Literal["full", "balanced", "economy"]


class Compaction(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When a window is left."""

    auto: Annotated[
        bool,
        Meta(
            description="Open a new window when the level reaches the trigger; off: only on a provider's overflow or by hand."
        ),
    ] = True
    max_context: Annotated[
        Amount | dict[str, Amount] | None,
        Meta(
            description='Use at most this much of the model\'s window: a number, "100K", "40%",'
            " or a table from provider/model patterns."
        ),
    ] = None
    trigger_ratio: Annotated[float, Meta(ge=0.3, le=0.99, description="Trigger line as a share of the effective window.")] = 0.9
    policy: Annotated[
        Policy, Meta(description="full: leave a window at the trigger; economy: where a step is cheapest; balanced: between.")
    ] = "full"


class CheckpointSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the checkpoint is kept fresh."""

    enabled: Annotated[bool, Meta(description="Write checkpoints and rebuild from them; off: compaction instead.")] = True
    thresholds: Annotated[
        tuple[Amount, ...] | None,
        Meta(description="Tiers at which a writer starts, tokens or percentages of the trigger; replaces the built-in list."),
    ] = None
    reserved: Annotated[
        Amount | None, Meta(description="Tiers stay this far below the trigger; default min(13000, trigger / 8).")
    ] = None
    model: Annotated[
        str | None, Meta(description="provider/name that writes checkpoints; default: the model of the session.")
    ] = None
    budget_share: Annotated[
        float,
        Meta(
            ge=0, le=1, description="Background writers may have this share of what the session spends; then extraction writes."
        ),
    ] = 0.25
    push_caps: Annotated[dict[str, Amount], Meta(description="Caps in tokens for sections of the opening, by name.")] = {}


class Rebuild(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a window opens with."""

    recent_user: Annotated[Amount, Meta(description="Tokens for the user's own words, newest first; 0 = none.")] = 16_000
    recent_user_per_msg: Annotated[
        Amount, Meta(description="Tokens for one of the user's messages before it is cut in the middle.")
    ] = 2_000
    working_set: Annotated[bool, Meta(description="Carry an outline of the files in use.")] = True


class Memory(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    disable_write: Annotated[bool, Meta(description="Write no memory and no checkpoint; reading goes on.")] = False


class Instructions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rule files (P-5)."""

    names: Annotated[tuple[str, ...], Meta(description="File names that are read at every level.")] = ("AGENTS.md",)
    claude_md: Annotated[
        Literal["off", "fallback", "also"], Meta(description="CLAUDE.md: never, where there is no file of ours, or always.")
    ] = "fallback"


class ModelSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which model, and what is known of it (A-4)."""

    default: Annotated[str | None, Meta(description="provider/name that is used where --model names none.")] = None
    thinking: Annotated[
        str | None, Meta(description='How much the model thinks: "off", "low", "medium", "high", or a number of tokens.')
    ] = None
    timeout: Annotated[
        int, Meta(ge=1, le=3600, description="Seconds without a byte after which a provider counts as gone.")
    ] = 120
    limit: Annotated[
        dict[str, Amount], Meta(description="A model's window in tokens, by provider/model pattern; goes before the catalogue.")
    ] = {}
    output: Annotated[
        dict[str, Amount], Meta(description="The most that a model may write in one answer, by provider/model pattern.")
    ] = {}
    servers: Annotated[
        dict[str, str], Meta(description="More OpenAI-compatible servers: a name for --model name/model, and its base URL.")
    ] = {}


class MidConversationSystem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Reminders as messages of role system (Q-6)."""

    mode: Annotated[
        Literal["auto", "force", "off"],
        Meta(description="auto: where the model is known to take them; force: wherever the protocol can; off: never."),
    ] = "auto"


class Reminders(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The engine's notes to the model (M-R1)."""

    off: Annotated[tuple[str, ...], Meta(description="Kinds of reminders that are never sent.")] = ()


class Permissions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What tools may do (Y-6). A rule is ``tool`` or ``tool(pattern)``; deny beats everything."""

    mode: Annotated[
        Literal["ask", "accept-edits", "plan", "full"],
        Meta(description="ask before changes; accept edits in the folder; plan: only look; full: ask nothing."),
    ] = "ask"
    allow: Annotated[tuple[str, ...], Meta(description='Calls that need no question, such as "bash(git status*)".')] = ()
    ask: Annotated[tuple[str, ...], Meta(description="Calls that are always asked for.")] = ()
    deny: Annotated[tuple[str, ...], Meta(description='Calls that are refused in every mode, such as "bash(rm -rf *)".')] = ()


class Tools(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    bash_timeout: Annotated[int, Meta(ge=1, le=3600, description="Seconds after which a shell command is stopped.")] = 120


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole configuration: ``config.toml`` has these tables."""

    compaction: Compaction = Compaction()
    checkpoint: CheckpointSettings = CheckpointSettings()
    rebuild: Rebuild = Rebuild()
    memory: Memory = Memory()
    instructions: Instructions = Instructions()
    model: ModelSettings = ModelSettings()
    mid_conversation_system: MidConversationSystem = MidConversationSystem()
    reminders: Reminders = Reminders()
    permissions: Permissions = Permissions()
    tools: Tools = Tools()
    output_style: Annotated[str | None, Meta(description="Name of the style in which the agent writes.")] = None
    language: Annotated[Literal["auto", "en", "zh"], Meta(description="Language of texts for people.")] = "auto"
