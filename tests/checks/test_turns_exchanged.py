"""Two turns of a conversation that changed places."""

import pytest

from dataloader_expert.checks.conversations import oddities


@pytest.mark.parametrize(
    ("roles", "odd"),
    [
        (["assistant", "user"], ["exchanged"]),
        (["system", "assistant", "user", "user", "assistant"], ["exchanged"]),
        (["user", "assistant", "assistant", "user"], ["exchanged"]),
        (["assistant", "user", "system"], ["exchanged", "late"]),
        (["user", "assistant"], []),
        (["assistant", "user", "assistant"], []),  # a greeting
        (["user", "user"], ["unanswered", "repeated"]),
        (["user", "assistant", "user"], ["unanswered"]),
        (["assistant", "assistant", "user", "user"], ["unanswered", "repeated"]),
    ],
)
def test_turns(roles: list[str], odd: list[str]) -> None:
    """Our promise: what is exchanged is told once, with a fix that keeps both turns."""
    assert list(oddities(roles)) == odd
