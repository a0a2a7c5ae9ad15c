"""What usage costs (M-5)."""

import subprocess
import sys

import pytest

from sojourn.base import Usage
from sojourn.meter import Cost, cost, price, units


@pytest.mark.design("M-5")
def test_units_by_cache_rule() -> None:
    assert units(1_000, 0, 0, "marked") == 1_000
    assert units(0, 1_000, 0, "marked") == 1_250
    assert units(0, 0, 1_000, "marked") == pytest.approx(100)
    assert units(100, 200, 300, "marked") == pytest.approx(100 + 250 + 30)
    assert units(100, 200, 300, "automatic") == pytest.approx(100 + 200 + 30)


@pytest.mark.design("M-5")
@pytest.mark.report(57)
def test_an_unknown_cache_read_is_shown_as_unknown() -> None:
    silent = cost(Usage(fresh=500, output=9), "automatic")
    assert silent == Cost(500.0, 500, None, None, "automatic")
    assert cost(Usage(fresh=500, cached=0, written=0), "automatic").cached == 0
    assert cost(Usage(fresh=10, cached=1_000, written=100), "marked") == Cost(10 + 125 + 100.0, 10, 100, 1_000, "marked")


@pytest.mark.design("M-5")
def test_a_price_tells_cached_and_written_apart() -> None:
    """Three dollars a million in, 3.75 written, 0.30 read, 15 out: the list price of this model."""
    model = "claude-sonnet-4-5"
    assert price(model, Usage(fresh=100_000)) == pytest.approx(0.30)
    assert price(model, Usage(cached=100_000)) == pytest.approx(0.03)
    assert price(model, Usage(written=100_000)) == pytest.approx(0.375)
    assert price(model, Usage(output=10_000, reasoning=4_000)) == pytest.approx(0.15)
    whole = Usage(fresh=10_000, cached=100_000, written=20_000, output=1_000)
    assert price(model, whole) == pytest.approx(0.03 + 0.03 + 0.075 + 0.015)


@pytest.mark.design("M-5")
def test_a_provider_may_be_named_in_either_place() -> None:
    usage = Usage(fresh=100_000)
    assert price("claude-sonnet-4-5", usage, "anthropic") == pytest.approx(0.30)
    assert price("anthropic/claude-sonnet-4-5", usage) == pytest.approx(0.30)


@pytest.mark.design("M-5")
@pytest.mark.report(57)
@pytest.mark.parametrize(
    ("model", "provider"),
    [("no-such-model", ""), ("no-such/claude-sonnet-4-5", ""), ("claude-sonnet-4-5", "no-such"), ("", ""), ("scripted", "")],
)
def test_an_unknown_price_is_none_and_never_zero(model: str, provider: str) -> None:
    assert price(model, Usage(fresh=1_000), provider) is None


@pytest.mark.design("M-5")
def test_the_price_table_is_loaded_on_first_use_only() -> None:
    probe = "import sys, sojourn.meter; sys.exit(any(name.startswith('genai_prices') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", probe], check=False).returncode == 0
