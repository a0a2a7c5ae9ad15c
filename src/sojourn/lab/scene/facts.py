"""What has to survive: said once, by a person, a file, a command or the agent, and needed later."""

from typing import Literal

import msgspec

Place = Literal["prompt", "result", "answer"]


class Planted(msgspec.Struct, frozen=True):
    """Something that later work needs."""

    name: str
    text: str
    """The exact string to look for."""
    kind: str
    """``rule``, ``value``, ``decision``, ``finding``, ``error``, ``fix``, ``name``."""
    turn: int
    """In which it is said, from 1."""
    said_in: Place
    void_turn: int | None = None
    """The turn whose prompt takes it back; None = it holds to the end."""


PLANTED = (
    Planted("migrations", "Never touch db/migrations", "rule", 1, "prompt"),
    Planted("check_first", "Run ./check before every commit", "rule", 1, "prompt"),
    Planted("cents", "amounts stay whole cents, never floats", "rule", 1, "prompt"),
    Planted("staging_port", "Staging listens on port 8471", "value", 1, "prompt", void_turn=5),
    Planted("on_call", "Mirela is on call this week", "name", 1, "prompt"),
    Planted("sides", "since firmware 2.8.3 width, height and depth no longer tell which side is which", "finding", 1, "result"),
    Planted("complaint", "AssertionError: 300 != 150", "error", 1, "result"),
    Planted("started_days", "a started day is billed once, so the division rounds up", "decision", 2, "answer"),
    Planted("lockers_file", "不要改 config/lockers.json", "rule", 3, "prompt"),
    Planted("commit_language", "提交说明一律用英文", "rule", 3, "prompt"),
    Planted("no_room", "E-4107 no compartment for 442x60x300 at K-12", "error", 3, "result"),
    Planted("sorted_sides", "尺寸一律排序后再比较", "decision", 3, "answer"),
    Planted("report_limit", "no report may hold the database for more than 20 minutes", "rule", 4, "prompt"),
    Planted("busy", "E-5003 the database is busy: report.by_locker held it for 41 minutes", "error", 4, "result"),
    Planted("staging_port_new", "it listens on port 8512 from today", "value", 5, "prompt"),
    Planted("one_code", "the parcel's id goes into the hash of its code", "decision", 5, "answer"),
    Planted("retention", "审计记录要保留 400 天", "value", 6, "prompt"),
    Planted("no_restart", "凌晨两点到四点不要重启 staging", "rule", 6, "prompt"),
    Planted("first_locker", "The first locker of the roll-out is K-12", "value", 7, "prompt"),
)
