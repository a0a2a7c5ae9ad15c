"""Where a session stands just before a model call, as the deciding part wants it told (C-6)."""

from sojourn.cycle import Situation
from sojourn.engine.firing import running
from sojourn.engine.handing import cache_is_warm
from sojourn.engine.state import State
from sojourn.engine.view import tokens_of


def situation(state: State) -> Situation:
    """Level and lines, tiers, writer and switches. Costs nothing that grows with the window, unless a tier is crossed."""
    settings = state.ports.settings
    window = state.view.window
    recovered = state.view.recovered()
    model, calibration = state.traits.name, state.calibration
    level = (state.view.estimated_level(calibration, model) if recovered else state.level()).tokens
    lines = state.lines()
    child = state.session.parent_id is not None
    writes = settings.checkpoint.enabled and not settings.memory.disable_write and state.lease is not None and not child
    crossed = any(tier <= level and tier not in window.tiers for tier in lines.tiers) or window.gate is not None
    mark = max(state.mark, window.covered_seq)
    return Situation(
        level=level,
        lines=lines,
        recovered=recovered,
        child=child,
        consumed=window.tiers,
        gate=window.gate,
        since_mark=tokens_of(state.view.after(mark), calibration, model) if crossed and writes else 0,
        writer_running=running(state),
        checkpoints=writes,
        auto=settings.compaction.auto,
        window_undone=state.window_undone,
        usable_checkpoint=state.mark > window.covered_seq,
        cache_expired=bool(state.answered_at) and state.traits.reports_cache and not cache_is_warm(state),
    )
