"""The embedded model: it follows a script, really calls tools and needs neither key nor network (A-5)."""

from sojourn.models.scripted.looking import Looking
from sojourn.models.scripted.model import Missed, Scripted
from sojourn.models.scripted.plan import Check, Look, Plan, Planned, Turn, Use
from sojourn.models.scripted.sight import Answer, Called, Place, Result, Script, Sight, request_text

__all__ = [
    "Answer", "Called", "Check", "Look", "Looking", "Missed", "Place", "Plan", "Planned", "Result", "Script", "Scripted",
    "Sight", "Turn", "Use", "request_text",
]  # fmt: skip
