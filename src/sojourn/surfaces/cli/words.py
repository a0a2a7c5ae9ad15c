"""The words of a message."""

from sojourn.record import Message, Text


def words_of(message: Message) -> str:
    """The text that its author wrote: no thinking, no calls, no reminders."""
    return "\n\n".join(part.text for part in message.parts if isinstance(part, Text))
