"""From facts to the words of a reminder (M-R3, M-R6): pure, the same facts, the same bytes."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal

from sojourn.meter import fit_line
from sojourn.reminders.texts import template
from sojourn.reminders.types import Attached, Goal, Hook, Job, Plugin, Rule, RuleChange, Todo

HOOK_CHARACTERS = 24_000
_NAME, _LINE = 200, 240
_HASH = 8
"""Characters of a file's hash that tell its contents apart."""

Sender = Literal["coordinator", "peer", "background"]


def window_opened() -> str:
    return template("window_opened")


def forked() -> str:
    return template("conversation_fork")


def side_chat() -> str:
    return template("selection_side_chat")


def rewound(seq: int) -> str:
    return template("rewind_notice").format(seq=seq)


def plan_file(plan: Rule) -> str:
    return template("plan_file_reference").format(path=fit_line(plan.path, _NAME), text=plan.text.strip("\n"))


def files_before(files: Sequence[Attached]) -> str:
    shown = "\n\n".join(f"read({fit_line(one.name, _NAME)})\n{_numbered(one)}" for one in files)
    return template("resume_referenced_session_context").format(files=shown)


def goal_restated(goal: str) -> str:
    return template("resume_goal_state").format(goal=goal.strip())


def goal_changed(goal: Goal) -> str:
    return template(f"goal_{goal.state}").format(goal=goal.text.strip())


def goal_continues(goal: str) -> str:
    return template("target_continuation").format(goal=goal.strip())


def output_continuation() -> str:
    """Behind an answer that was cut at the output limit (A-8)."""
    return template("output_continuation")


def hook(given: Hook) -> str:
    """The texts, numbered, cut to 24,000 characters (Y-7); "" where no hook said anything."""
    texts = [text.strip() for text in given.texts if text.strip()]
    joined = "\n".join(f"#{number}\n{text}" for number, text in enumerate(texts, 1))
    if len(joined) > HOOK_CHARACTERS:
        joined = joined[: HOOK_CHARACTERS - 1] + "…"
    return template("hook_context").format(event=given.event, texts=joined) if joined else ""


def sessions(ids: Sequence[str]) -> str:
    return template("referenced_session_context").format(ids=_names(dict.fromkeys(ids)))


def date_change(today: str) -> str:
    return template("date_change").format(today=today)


def attached(one: Attached) -> str:
    """A file as a read with its numbered result, a text marked as data (M-R6)."""
    if one.kind == "text":
        return template("attached_text").format(name=fit_line(one.name, _NAME), text=one.text)
    return template("attached_file").format(name=fit_line(one.name, _NAME), text=_numbered(one))


def plugin(one: Plugin) -> str:
    kinds = (("skills", one.skills), ("servers", one.servers), ("actors", one.actors))
    offers = "\n".join(f"- {kind}: {_names(names)}" for kind, names in kinds if names) or "- nothing that can be called"
    return template("plugin_reference").format(name=fit_line(one.name, _NAME), offers=offers)


def job(one: Job) -> str:
    """The line of one job: what it is known by in what was sent. Numbers begin anew in each process: the local time of
    the start tells two jobs of one number apart."""
    started = f" of {datetime.fromtimestamp(one.started / 1_000):%H:%M:%S}" if one.started else ""
    note = f"; {one.note}" if one.note else ""
    return fit_line(f"- job {one.id}{started} ({fit_line(one.what, _NAME)}): {one.state}{note}", 2 * _LINE)


def jobs(ended: Iterable[Job]) -> str:
    return template("queued_system_notification").format(jobs="\n".join(job(one) for one in ended))


def rule_changed(change: RuleChange) -> str:
    """The first line names the file and what it holds now, and is what the change is known by; the time is behind it."""
    content = f" (content {change.sha[:_HASH]})" if change.sha else ""
    return template("instructions_changed").format(path=fit_line(change.path, _NAME), content=content, at=change.at)


def rule_reached(rule: Rule) -> str:
    return template("nested_instructions").format(path=fit_line(rule.path, _NAME), text=rule.text.strip("\n"))


def tools_changed(late: Sequence[str], gone: Sequence[str]) -> str:
    """What is in reach now against the frozen list, names sorted: the order of connections never shows (report 51)."""
    lines = [
        template(name).format(names=_names(sorted(names)))
        for name, names in (("tools_late", late), ("tools_gone", gone))
        if names
    ]
    return "\n".join(lines) or template("tools_back")


def git_changed(branch: str) -> str:
    return template("git_changed").format(branch=fit_line(branch, _NAME))


def shell_changed(shell: str) -> str:
    return template("shell_environment_change").format(shell=fit_line(shell, _NAME))


def checkpoint_failed() -> str:
    return template("checkpoint_failed")


def cache_lost() -> str:
    return template("cache_lost")


def repeated(tool: str, times: int) -> str:
    return template("model_anomaly").format(tool=fit_line(tool, _NAME), times=times)


def plan(*, full: bool, tool: bool = False) -> str:
    """``tool``: there is a tool `plan` to hand the plan over with; otherwise the turn ends with it."""
    hand_over = template("plan_calls_tool" if tool else "plan_ends_turn")
    return template("plan_full" if full else "plan_brief").format(hand_over=hand_over)


def plan_left(mode: str) -> str:
    return template("plan_mode_exit").format(mode=mode)


def mode_change(mode: str) -> str:
    return template("mode_change").format(mode=mode)


def todo(todos: Sequence[Todo]) -> str:
    """The nudge, with the list where there is one, a line a task."""
    if not todos:
        return template("todo_reminder")
    lines = (f"- [{one.status.replace('_', ' ')}] {fit_line(one.text, _LINE)}" for one in todos)
    return f"{template('todo_reminder')}\n{template('todo_list').format(todos=chr(10).join(lines))}"


def recall(folder: str = "", *, search: str = "", documents: str = "", tasks: str = "") -> str:
    """What there is beside the view, a line each (M-R7); "" where there is nothing. ``folder``: of the memory, empty = it
    holds no document. The others are calls as the tools' schemas take them."""
    lines = []
    if folder:
        lines.append(template("recall_memory").format(folder=" ".join(folder.split()), search=search, listing=documents))
    if tasks:
        lines.append(template("recall_tasks").format(listing=tasks))
    return "\n".join(lines)


def style(name: str) -> str:
    return template("output_style").format(style=fit_line(name, _NAME))


def sent_by_user() -> str:
    """Stands before a message of the user that was sent while the agent worked (M-R6)."""
    return template("from_user")


def incoming(sender: Sender, text: str, name: str = "") -> str:
    """What somebody who is not the user sends; a peer's comes with its three sentences (M-R5)."""
    return template(f"from_{sender}").format(text=text.strip(), sender=fit_line(name, _NAME) or "unnamed")


def _numbered(one: Attached) -> str:
    lines = one.text.removesuffix("\n").split("\n")
    shown = [f"{number}\t{line}" for number, line in enumerate(lines, one.first_line)]
    if one.cut:
        shown.append(template("attached_cut").format(line=one.first_line + len(lines)))
    return "\n".join(shown)


def _names(names: Iterable[str]) -> str:
    return ", ".join(fit_line(name, _NAME) for name in names)
