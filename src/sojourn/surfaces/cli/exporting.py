"""A session read from the store, handed to an exporter."""

from collections.abc import AsyncIterator

from sojourn.record import File, Image, Message, Session, Store, ToolCall


async def chunks(store: Store, session: Session, form: str) -> AsyncIterator[str]:
    """The export, piece by piece. What was undone is in the lossless form only."""
    from sojourn import exporters

    lossless = form == "jsonl"
    messages = list(await store.messages(session.id, include_undone=lossless))
    blobs = {sha: data for sha in _addresses(messages) if (data := await store.blob(sha)) is not None}
    if lossless:
        pieces = exporters.to_jsonl(
            session,
            messages,
            blobs.get,
            windows=await store.windows(session.id, include_undone=True),
            checkpoints=await store.checkpoints(session.id, include_undone=True),
            undos=await store.undos(session.id),
        )
    else:
        exporter = {"markdown": exporters.to_markdown, "openai": exporters.to_openai, "anthropic": exporters.to_anthropic}[form]
        pieces = exporter(session, messages, blobs.get)
    for piece in pieces:
        yield piece


def _addresses(messages: list[Message]) -> set[str]:
    found: set[str] = set()
    for message in messages:
        for part in message.parts:
            if isinstance(part, Image | File):
                found.add(part.blob)
            elif isinstance(part, ToolCall):
                found |= {result.blob for result in part.result if isinstance(result, Image | File)}
    return found
