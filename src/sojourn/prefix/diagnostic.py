"""What a source has to say about its work, for the screen and for ``sojourn context``."""

from typing import Literal

import msgspec


class Diagnostic(msgspec.Struct, frozen=True):
    """``loaded``: this path is in the prefix. ``absent``: it was looked for and is not there. ``warning``: something
    that a person should know, in one sentence."""

    kind: Literal["loaded", "absent", "warning"]
    message: str
    path: str = ""
