"""A session out of the record: lossless lines, Markdown for people, message lists for other programs (R-14)."""

from sojourn.exporters.anthropic_list import to_anthropic
from sojourn.exporters.journal_lines import to_jsonl
from sojourn.exporters.markdown import to_markdown
from sojourn.exporters.openai_list import to_openai
from sojourn.exporters.words import BlobReader

__all__ = ["BlobReader", "to_anthropic", "to_jsonl", "to_markdown", "to_openai"]
