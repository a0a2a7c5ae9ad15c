"""The ratio reported / estimated, learned per model and kind of content from what providers report (M-2)."""

import math

import msgspec

from sojourn.base import Tokens

_STEP = 0.6
"""The share of an error that one large report corrects: 84% after two, 94% after three."""
_SMALL = 200
"""A request of this many tokens teaches half as much: fixed overheads of the provider drown its text."""
_LEAST, _MOST = 0.5, 3.0


class Calibration(msgspec.Struct, frozen=True, omit_defaults=True):
    """Ratios reported / estimated by model, then by kind of content. Empty = 1.0 everywhere."""

    ratios: dict[str, dict[str, float]] = {}

    def ratio(self, model: str, kind: str) -> float:
        """The ratio learned for both; else the model's mean; for an unknown model the mean of the models that know
        the kind; else 1.0."""
        own = self.ratios.get(model)
        if own:
            return own.get(kind, sum(own.values()) / len(own))
        known = [kinds[kind] for kinds in self.ratios.values() if kind in kinds]
        return sum(known) / len(known) if known else 1.0


def learn(calibration: Calibration, model: str, estimated: Tokens, reported: int) -> Calibration:
    """A calibration that has seen one more report; the given one stays as it is.

    ``estimated``: the uncalibrated estimate of exactly the request that was reported. ``reported``: its input in tokens,
    cached and written included. The error is shared out by the kinds' shares of the estimate, smoothed, and each ratio
    kept in [0.5, 3.0]. A report of nothing, or of a request without an estimate, teaches nothing.
    """
    shares = {kind: count for kind, count in estimated.items() if count > 0}
    size = sum(shares.values())
    if not size or reported <= 0:
        return calibration
    before = {kind: calibration.ratio(model, kind) for kind in shares}
    error = reported - sum(count * before[kind] for kind, count in shares.items())
    step = _STEP * size / (size + _SMALL) * error / sum(count * count for count in shares.values())
    after = {kind: min(_MOST, max(_LEAST, before[kind] + step * count)) for kind, count in shares.items()}
    ratios = {**calibration.ratios, model: {**calibration.ratios.get(model, {}), **after}}
    return msgspec.structs.replace(calibration, ratios=ratios)


def calibrated(calibration: Calibration, model: str, tokens: Tokens) -> int:
    """Tokens as the model's provider would report them, rounded up."""
    exact = sum(count * calibration.ratio(model, kind) for kind, count in tokens.items())
    return math.ceil(round(exact, 6))  # 1000 * 1.1 is a hair above 1100 in binary
