"""What every writer's answer must pass before it is committed, whoever wrote it (K-6)."""

import msgspec

from sojourn.base import Item, Section
from sojourn.checkpoint.redact import redact
from sojourn.checkpoint.writer import Written

_KNOWN = frozenset(Section)


def validate(written: Written, mark: int) -> Written:
    """The answer with secrets redacted, empty texts, unknown sections and ids that stand there already refused, and
    sources that lie after ``mark`` (or are no message) taken off. What was refused is told in ``refused``, for the ledger."""
    kept: list[Item] = []
    ids: set[str] = set()
    refused = list(written.refused)
    for item in written.items:
        if item.section not in _KNOWN:
            refused.append(f"{item.id}: there is no section {item.section!r}")
        elif not item.text.strip():
            refused.append(f"{item.id}: empty")
        elif item.id in ids:
            refused.append(f"{item.id}: there are two of this id")
        else:
            ids.add(item.id)
            sources = tuple(seq for seq in item.sources if 0 < seq <= mark)
            kept.append(msgspec.structs.replace(item, section=Section(item.section), text=redact(item.text), sources=sources))
    return msgspec.structs.replace(written, items=tuple(kept), refused=tuple(refused))
