"""``python -m tests.weaknesses [words]``: each weakness, its guard, and what the guard says without and with it.

Words choose the weaknesses whose system, description or test contains one of them. Exits with 1 if a guard does not
pass, or does not fail while its weakness is planted. A guard that is skipped here, for want of a device, is neither.
"""

from __future__ import annotations

import functools
import sys

import torch

from tests.weaknesses.base import Weakness
from tests.weaknesses.registry import all_weaknesses
from tests.weaknesses.running import Outcome, outcome

plain = functools.cache(outcome)


def main(words: list[str]) -> int:
    """Prints a line for each weakness; the number of those that are not guarded."""
    torch.set_num_threads(1)
    chosen = [
        w for w in all_weaknesses() if not words or any(word in f"{w.system} {w.says} {w.test}" for word in words)
    ]
    unguarded = skipped = 0
    system = ""
    for weakness in chosen:
        if weakness.system != system:
            system = weakness.system
            print(f"\n{system}")
        without, within = plain(weakness.test), planted_outcome(weakness)
        guarded = (without.word, within.word) == ("passed", "failed")
        no_device = without.word == "skipped"
        skipped += no_device
        unguarded += not guarded and not no_device
        mark = "guarded" if guarded else "no device" if no_device else "NOT GUARDED"
        print(f"  {mark:11}  {weakness.says}")
        print(
            f"               {weakness.test}: {without.word}; with the weakness {within.word}: {within.why[:120]}",
            flush=True,
        )
    guards = len(chosen) - unguarded - skipped
    print(
        f"\n{guards} of {len(chosen)} weaknesses are guarded against; {skipped} guards need a device that is not here"
    )
    return unguarded


def planted_outcome(weakness: Weakness) -> Outcome:
    with weakness.plant():
        return outcome(weakness.test)


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)
