"""The model's hands: files, shell, search, the record (Y-5). What may run is judged by the caller, before ``run``."""

from sojourn.tools.core import CORE, by_name
from sojourn.tools.desk import Desk, History, PutBlob
from sojourn.tools.more import inner_call, more_tool
from sojourn.tools.running import effect_of, run, subject_of
from sojourn.tools.skill import skill_tool
from sojourn.tools.types import Effect, Outcome, Run, Tool, failed, said

__all__ = [
    "CORE",
    "Desk",
    "Effect",
    "History",
    "Outcome",
    "PutBlob",
    "Run",
    "Tool",
    "by_name",
    "effect_of",
    "failed",
    "inner_call",
    "more_tool",
    "run",
    "said",
    "skill_tool",
    "subject_of",
]
