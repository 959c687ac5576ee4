"""Every threshold of the search, with its reason. All other limits are measured, modelled or requested.

Settings of an instrument (the length of a block, how often a queue is polled) are next to the instrument.
"""

WORTH = 1.05
"""The least gain worth a change: the gain's interval must lie above it. Gains below 5 % disappear in a loader's
day-to-day variation."""

ALIKE = 1.03
"""Settings whose means differ by less count as equal, and the cheaper is taken: three blocks resolve no less."""

LEAST_PAIRS = 2
"""The fewest pairs of a comparison: one observation has no spread."""

ROUNDS = 3
"""Blocks of each setting still in contention: with two, one disturbed block decides."""

PAIRS, MOST_PAIRS = 8, 64
"""Pairs planned for a proof, and the most while a gain is seen but not yet proved, as time allows."""

MOST_WORKERS = 16
"""The most workers per core that are tried by default: each costs a process, its memory and descriptors. For CPU-bound
samples the model expects no gain long before."""


def most_workers(cpus: float) -> int:
    """The most workers that are tried by default."""
    return int(MOST_WORKERS * max(1.0, cpus))


SEARCH_SHARE, PROOF_SHARE = 0.6, 0.8
"""Shares of the request's remaining time for the search alone, and for the search with its proof. Stages and
experiments follow; a proved setting is worth more to the user than any of them."""

MEMORY_SHARE = 0.75
"""The share of the available memory, shared memory or descriptors that a setting may take: training needs the rest."""
