"""System text inside a conversation: forced, off, or as the model is known (Q-6)."""

import pytest

from sojourn.agent.session import with_mid_system
from sojourn.wire import Traits


@pytest.mark.design("Q-6")
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(
    ("mode", "protocol", "allowed"),
    [
        ("auto", "anthropic", None),
        ("auto", "gemini", None),
        ("force", "anthropic", True),
        ("force", "chat", True),
        ("force", "gemini", False),
        ("off", "anthropic", False),
        ("off", "gemini", False),
    ],
)
def test_force_obeys_the_protocol_off_is_off_and_auto_is_what_is_known(
    mode: str, protocol: str, known: bool, allowed: bool | None
) -> None:
    traits = Traits(name="test-model", limit=64_000, protocol=protocol, mid_system=known)  # type: ignore[arg-type]
    assert with_mid_system(traits, mode).mid_system is (known if allowed is None else allowed)
