"""The model's hands: files, shell, search, the record (Y-5). What may run is judged by the caller, before ``run``."""

from sojourn.tools.core import CORE, by_name
from sojourn.tools.desk import Act, Acted, Desk, History, Memory, PutBlob, Tasks
from sojourn.tools.memory import MEMORY, call_shape, memory_effect
from sojourn.tools.more import inner_call, more_tool
from sojourn.tools.running import effect_of, run, subject_of
from sojourn.tools.skill import skill_tool
from sojourn.tools.task import TASK
from sojourn.tools.types import Effect, Outcome, Run, Tool, failed, said

__all__ = [
    "CORE",
    "MEMORY",
    "TASK",
    "Act",
    "Acted",
    "Desk",
    "Effect",
    "History",
    "Memory",
    "Outcome",
    "PutBlob",
    "Run",
    "Tasks",
    "Tool",
    "by_name",
    "call_shape",
    "effect_of",
    "failed",
    "inner_call",
    "memory_effect",
    "more_tool",
    "run",
    "said",
    "skill_tool",
    "subject_of",
]
