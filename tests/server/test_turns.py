"""Callers take turns: one at a time, nobody waits for all of another's, and the turn is always given back."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert.server.turns import Turns


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["ends", "raises", "gives up"])), max_size=14))
def test_every_turn_is_given_back(calls: list[tuple[str, str]]) -> None:
    """Our promise: whatever becomes of a caller, one at a time has the turn and the next gets it."""

    async def run() -> None:
        turns, at_once, served = Turns(), 0, 0

        async def call(who: str, how: str) -> None:
            nonlocal at_once, served
            async with turns.turn(who, lambda _: None):
                at_once += 1
                assert at_once == 1
                served += 1
                try:
                    await asyncio.sleep(0)
                    if how == "raises":
                        raise ValueError
                finally:
                    at_once -= 1

        tasks = [asyncio.ensure_future(call(who, how)) for who, how in calls]
        for step, (task, (_, how)) in enumerate(zip(tasks, calls, strict=True)):
            if how == "gives up":
                for _ in range(step % 3):
                    await asyncio.sleep(0)
                task.cancel()
        await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 5)
        await asyncio.wait_for(call("last", "ends"), 5)
        assert served >= 1 + sum(how != "gives up" for _, how in calls)

    asyncio.run(run())


@pytest.mark.parametrize("many", [3, 10])
def test_one_who_asks_often_does_not_make_another_wait_for_all(many: int) -> None:
    """Our promise: callers are served in turn, each one's calls in the order in which they were made."""

    async def run() -> list[str]:
        turns, order = Turns(), list[str]()
        told: Counter[int] = Counter()

        async def call(who: str, i: int) -> None:
            async with turns.turn(who, lambda asked: told.update([asked])):
                order.append(f"{who}{i}")
                await asyncio.sleep(0)

        calls = [call("a", i) for i in range(many)] + [call("b", i) for i in range(2)]
        await asyncio.gather(*calls)
        assert sum(told.values()) == many + 1  # all but the first had to wait, and were told
        return order

    order = asyncio.run(run())
    assert order[:4] == ["a0", "a1", "b0", "a2"]
    assert [o for o in order if o[0] == "a"] == [f"a{i}" for i in range(many)]
    assert order.index("b1") <= 4
