"""The tools that every session has."""

from sojourn.tools.bash import BASH
from sojourn.tools.edit import EDIT
from sojourn.tools.glob import GLOB
from sojourn.tools.grep import GREP
from sojourn.tools.history import HISTORY
from sojourn.tools.read import READ
from sojourn.tools.types import Tool
from sojourn.tools.write import WRITE

CORE: tuple[Tool, ...] = (READ, WRITE, EDIT, BASH, GREP, GLOB, HISTORY)
by_name: dict[str, Tool] = {tool.name: tool for tool in CORE}
