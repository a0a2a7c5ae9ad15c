"""How the day is written down: a small workspace of files, and messages whose results come out of it."""

import difflib
from typing import Any

import msgspec

from sojourn.base import Finish
from sojourn.lab.sample import Fact
from sojourn.lab.sample.project import project_files, seeded
from sojourn.record import Message, Text, ToolCall, Touch

_MORNING = 1_773_304_860_000
"""2026-03-12 08:41 UTC, in milliseconds."""


class Day:
    """The session so far. Files change as calls change them, so what is read later is what was written."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.facts: list[Fact] = []
        self.chance = seeded("tidewatch")
        self.files = project_files()
        self._committed = dict(self.files)
        self._now = _MORNING
        self._calls = 0

    # --- what was said ---

    def user(self, text: str) -> None:
        """The developer writes; some minutes have passed."""
        if self.messages:
            self._now += self.chance.randint(3, 27) * 60_000
        self._add("user", (Text(text),), None)

    def done(self, text: str) -> None:
        """The assistant answers and waits."""
        self._add("assistant", (Text(text),), Finish.STOP)

    def fact(self, name: str, kind: str, text: str) -> None:
        """What the newest message says has to survive."""
        self.facts.append(Fact(name, text, len(self.messages), kind))

    def void(self, name: str) -> None:
        """The newest message takes a fact back."""
        at = next(i for i, fact in enumerate(self.facts) if fact.name == name)
        self.facts[at] = msgspec.structs.replace(self.facts[at], void_after=len(self.messages))

    # --- what was done ---

    def look(self, text: str, *paths: str) -> None:
        """One step that reads whole files."""
        self.step(text, *map(self.read, paths))

    def run(self, text: str, command: str, output: str, error: bool = False) -> None:
        """One step that runs one command."""
        self.step(text, self.bash(command, output, error))

    def step(self, text: str, *calls: ToolCall) -> None:
        """One step: the assistant says why and makes its calls; their results are in them."""
        parts: tuple[Text | ToolCall, ...] = (Text(text), *calls) if text else calls
        self._add("assistant", parts, Finish.TOOL_CALLS)

    def read(self, path: str, first: int = 1, count: int = 400) -> ToolCall:
        lines = self.files[path].split("\n")[first - 1 : first - 1 + count]
        result = "\n".join(f"{number:>5}  {line}" for number, line in enumerate(lines, first))
        arguments: dict[str, Any] = {"path": path} if first == 1 else {"path": path, "offset": first, "limit": count}
        return self._call("read_file", arguments, result, Touch(path, "read", (first, first + len(lines) - 1)))

    def edit(self, path: str, old: str, new: str) -> ToolCall:
        before = self.files[path]
        if before.count(old) != 1:
            raise ValueError(f"the text to replace stands {before.count(old)} times in {path}")
        self.files[path] = before.replace(old, new)
        line = before[: before.index(old)].count("\n") + 1
        arguments = {"path": path, "old_text": old, "new_text": new}
        return self._call("edit_file", arguments, f"edited {path} at line {line}", Touch(path, "edit", (line, line)))

    def write(self, path: str, text: str) -> ToolCall:
        self.files[path] = text
        result = f"wrote {path}, {text.count(chr(10))} lines"
        return self._call("write_file", {"path": path, "content": text}, result, Touch(path, "write"))

    def grep(self, word: str, under: str = "src") -> ToolCall:
        hits = [
            f"{path}:{number}:{line}"
            for path, text in self.files.items()
            if path.startswith(under)
            for number, line in enumerate(text.split("\n"), 1)
            if word in line
        ]
        return self._call("grep", {"pattern": word, "path": under or "."}, "\n".join(hits[:60]) or "no matches")

    def bash(self, command: str, output: str, error: bool = False) -> ToolCall:
        return self._call("bash", {"command": command}, output, error=error)

    def diff(self, *paths: str) -> ToolCall:
        """``git diff`` against the last commit."""
        output: list[str] = []
        for path in paths:
            old, new = (files.get(path, "").split("\n") for files in (self._committed, self.files))
            output += difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", lineterm="")
        return self.bash("git diff " + " ".join(paths), "\n".join(output))

    def status(self) -> ToolCall:
        """``git status`` since the last commit."""
        changed = (f"{' M' if path in self._committed else '??'} {path}" for path in self.files if self._differs(path))
        return self.bash("git status --short", "\n".join(changed))

    def commit(self, title: str, sha: str) -> ToolCall:
        changed = [path for path in self.files if self._differs(path)]
        self._committed = dict(self.files)
        output = f"[main {sha}] {title}\n {len(changed)} files changed\n" + "".join(f" {path}\n" for path in changed)
        return self.bash(f'git add -A && git commit -m "{title}"', output)

    def _differs(self, path: str) -> bool:
        return self._committed.get(path) != self.files[path]

    # --- how it is stored ---

    def _call(
        self, name: str, arguments: dict[str, Any], result: str, touch: Touch | None = None, error: bool = False
    ) -> ToolCall:
        self._calls += 1
        return ToolCall(
            f"call_{self._calls}",
            name,
            arguments,
            state="error" if error else "completed",
            result=(Text(result),),
            touches=(touch,) if touch else (),
        )

    def _add(self, role: str, parts: tuple[Text | ToolCall, ...], finish: Finish | None) -> None:
        self._now += self.chance.randint(4_000, 38_000)
        created = self._now
        timed: list[Text | ToolCall] = []
        for part in parts:
            if isinstance(part, ToolCall):
                started, self._now = self._now, self._now + self.chance.randint(40, 9_000)
                timed.append(msgspec.structs.replace(part, started=started, ended=self._now))
            else:
                timed.append(part)
        seq = len(self.messages) + 1
        is_user = role == "user"
        self.messages.append(
            Message(
                f"msg_{seq}",
                "user" if is_user else "assistant",
                "user" if is_user else "model",
                tuple(timed),
                seq,
                created=created,
                finish=finish,
            )
        )
