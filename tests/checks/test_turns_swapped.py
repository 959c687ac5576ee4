"""Two turns of a conversation that changed places."""

import pytest

from dataloader_expert.checks.texts.conversations import oddities
from tests.checks.looking import Data, judged_alone


@pytest.mark.parametrize(
    ("roles", "odd"),
    [
        (["assistant", "user"], ["swapped"]),
        (["system", "assistant", "user", "user", "assistant"], ["swapped"]),
        (["user", "assistant", "assistant", "user"], ["swapped"]),
        (["assistant", "user", "system"], ["swapped", "late"]),
        (["user", "assistant"], []),
        (["assistant", "user", "assistant"], []),  # a greeting
        (["user", "user"], ["unanswered", "unheard"]),
        (["user", "assistant", "user"], ["unanswered"]),
        (["assistant", "assistant", "user", "user"], ["unanswered", "unheard", "repeated"]),
    ],
)
def test_turns(roles: list[str], odd: list[str]) -> None:
    """Our promise: what is swapped is told once, with a fix that keeps both turns."""
    assert list(oddities(roles)) == odd


def talks(roles: list[list[str]], splits: str | list[str] = "") -> Data:
    said = [[{"role": role, "content": f"words {i} {k}"} for k, role in enumerate(one)] for i, one in enumerate(roles)]
    return Data({"messages": said}, splits=splits, kinds={"messages": "other"})


PLAIN, TURNED, TWICE = ["user", "assistant"], ["assistant", "user"], ["user", "assistant", "assistant"]


def test_turns_swapped_in_more_than_a_few_are_told() -> None:
    """Seen: six in a hundred conversations that end with their question were taken for the way of the set."""
    found = judged_alone("conversations", talks([TURNED if i % 9 == 0 else PLAIN for i in range(180)]))["turn-order"]
    assert found.count == 20 and "an answer before its question" in found.message


def test_what_one_split_alone_has_is_told_however_often() -> None:
    """Our promise: what many conversations of one split have, and none of the others, is no way of the set."""
    splits = ["train"] * 120 + ["test"] * 60
    found = judged_alone("conversations", talks([PLAIN] * 120 + [TWICE, PLAIN] * 30, splits))["turn-order"]
    assert "(30 of 60 in test, and 0 of 120 elsewhere)" in found.message


def test_what_all_splits_have_is_how_the_set_is() -> None:
    assert judged_alone("conversations", talks([TWICE, PLAIN] * 90, ["train"] * 120 + ["test"] * 60)) == {}


@pytest.mark.parametrize(("greeted", "told"), [(0, "their roles seem to be swapped"), (60, "end without an answer")])
def test_conversations_with_their_roles_swapped(greeted: int, told: str) -> None:
    """Seen: 58 conversations in which the assistant asked and the user answered "end without an answer". Where others begin with a greeting,
    these may lack their end."""
    rows = [TURNED * 2] * 18 + [["assistant", *PLAIN]] * greeted + [PLAIN * 2] * (180 - greeted)
    found = judged_alone("conversations", talks(rows))["turn-order"]
    assert found.count == 18 and told in found.message
