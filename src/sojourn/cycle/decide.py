"""What to do before a model call: refresh the checkpoint, leave the window, or go on (C-6, C-7, C-8, C-15)."""

from sojourn.cycle.types import Decision, Fire, Situation


def decide(s: Situation) -> Decision:
    """What stands before the next request, in the order of C-6 to C-8 and C-15.

    ``fire`` and ``then`` are independent: a step may start a writer and open a window. Off switches (C-14):
    ``auto=False`` leaves only the tiers, ``checkpoints=False`` none of them and no opening for a cold cache.
    """
    line = s.lines.hard if s.window_undone else s.lines.trigger
    if s.recovered:
        return _after_recovery(s, line)
    fire = _tiers(s)
    if not s.auto:
        return Decision("send", fire=fire)
    if s.level >= line and not _worth_waiting(s):
        return Decision("compact" if s.child else "open", "usage", fire=fire)
    if _cold(s):
        return Decision("open", "cold_cache", fire=fire)
    return Decision("send", fire=fire)


def _after_recovery(s: Situation, line: int) -> Decision:
    """C-6: usage was answered by the newest window already, so only what came in can be to blame."""
    if not s.auto:
        return Decision("send")
    if s.level > s.lines.hard:
        return Decision("recover", "over_hard")
    if s.level >= line:
        return Decision("cut_incoming", "usage")
    return Decision("send")


def _tiers(s: Situation) -> Fire | None:
    """C-7: the writer to start. A tier that is crossed while one runs is not consumed: it fires when that has settled (K-9)."""
    if s.child or not s.checkpoints or s.writer_running:
        return None
    crossed = [tier for tier in s.lines.tiers if tier <= s.level and tier not in s.consumed]
    last = s.lines.tiers[-1:]
    # The gate stands for the newest tier that was consumed for a writer of which nothing came: it is crossed once more.
    if not crossed and last and s.gate is not None and s.level >= s.gate:
        crossed = [max((tier for tier in s.lines.tiers if tier in s.consumed), default=last[0])]
    if not crossed or s.since_mark < max(4_000, s.lines.trigger / 10):
        return None
    return Fire(level=s.level, tiers=tuple(crossed), last=crossed[-1] == last[0])


def _worth_waiting(s: Situation) -> bool:
    """C-18: an economic trigger is where a step is cheapest, no limit. While a checkpoint is being written, steps go on up to
    ``T`` rather than wait for it."""
    return s.writer_running and not s.usable_checkpoint and s.level < s.lines.full_trigger


def _cold(s: Situation) -> bool:
    """C-15: a checkpoint lies ready and the whole view would be paid for as new input."""
    if s.child or not s.checkpoints or s.window_undone or s.lines.policy == "full":
        return False
    return s.usable_checkpoint and s.cache_expired and 2 * s.level > s.lines.trigger
