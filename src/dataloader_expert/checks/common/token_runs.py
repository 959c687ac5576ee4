"""Hashes of all runs of so many tokens of a sequence, by a polynomial in them."""

from __future__ import annotations

from functools import cache
from typing import Any

from dataloader_expert.checks.common.fingerprint import mix

RUN = 50
"""Tokens of a run."""
DISTINCT = 5
"""In so many tokens of a run that says anything there is a change at least, on average: padding repeats."""
AT_ONCE = 1 << 16
"""Runs of a long sequence that are hashed at once."""
BASE = 0x9E3779B97F4A7C15
_INVERSE = pow(BASE, -1, 1 << 64)


def runs(ids: Any, run: int = RUN) -> Any:
    """Hashes of the runs of so many tokens, uint64; without those that are nearly all one token."""
    return runs_at(ids, run)[0]


def runs_at(ids: Any, run: int = RUN) -> tuple[Any, Any]:
    """The same, and at which token each begins, int64.

    Args:
        ids: [n], integers, n at least ``run`` and less than ``AT_ONCE`` + ``run``.
        run: at most ``RUN``.
    """
    import numpy as np

    n = len(ids)
    powers, undone = _powers(BASE)[:n], _powers(_INVERSE)[: n - run + 1]
    sums = np.zeros(n + 1, np.uint64)
    np.cumsum((ids.astype(np.int64).view(np.uint64) + np.uint64(1)) * powers, out=sums[1:])
    hashes = mix((sums[run:] - sums[:-run]) * undone)
    changes = np.concatenate([[0], np.cumsum(ids[1:] != ids[:-1])])
    at = np.flatnonzero(changes[run - 1 :] - changes[: n - run + 1] >= run // DISTINCT)
    return hashes[at], at


@cache
def _powers(base: int) -> Any:
    """1, base, base squared and so on, modulo 2 to the 64th; uint64 [``AT_ONCE`` + ``RUN``]."""
    import numpy as np

    made = np.full(AT_ONCE + RUN, base, np.uint64)
    made[0] = 1
    return np.cumprod(made)
