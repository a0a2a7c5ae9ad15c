"""Made-up views: messages with their seqs, and a session that goes on by itself."""

from itertools import count

import msgspec

from sojourn.base import Finish
from sojourn.record import Message, Reminder, Text, ToolCall
from sojourn.reminders import Facts, due, place


def user(text="go", **more):
    return Message("u", "user", "user", (Text(text),), **more)


def model(*parts, **more):
    return Message("a", "assistant", "model", parts or (Text("ok"),), **{"finish": Finish.STOP, **more})


def call(name="bash", arguments=None, state="completed", **more):
    return ToolCall("c", name, arguments or {}, state=state, result=(Text("r"),), **more)


_number = count()


def step(*calls):
    """Without calls: one that no other step makes."""
    return model(*(calls or (call("read", {"line": next(_number)}),)), finish=Finish.TOOL_CALLS)


def told(source, body="b", form="wrapped"):
    return Message("r", "user", "engine", (Reminder(source, body, form),), source=source)


def numbered(*messages, start=1):
    return [msgspec.structs.replace(one, seq=seq) for seq, one in enumerate(messages, start)]


def sources(view, **facts):
    return [one.source for one in due(Facts(**facts), view)]


class Talk:
    """One session: what is due is placed and stored, then the model answers."""

    def __init__(self, *, mid_system=False, opened_at_seq=0):
        self.view: list[Message] = []
        self.mid_system = mid_system
        self.opened_at_seq = opened_at_seq
        self.seq = 0
        self.due = ()

    def store(self, *messages):
        for one in messages:
            self.seq += 1
            self.view.append(msgspec.structs.replace(one, seq=self.seq))

    def step(self, prompt=None, answer=None, **facts):
        """What was due, by kind. ``prompt``: the user speaks; the model's step follows."""
        speaks = prompt is not None
        facts = {"opened_at_seq": self.opened_at_seq, "turn_start": speaks, "user_waits": speaks, **facts}
        self.due = due(Facts(**facts), self.view)
        placed = place(self.due, self.view, user(prompt) if speaks else None, mid_system=self.mid_system)
        assert placed.waiting == ()
        self.store(*placed.messages)
        self.store(answer or model())
        return [one.source for one in self.due]

    def copies(self, source):
        return [part for one in self.view for part in one.parts if isinstance(part, Reminder) and part.source == source]
