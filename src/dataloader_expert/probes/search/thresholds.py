"""Every threshold of the search, with its reason. What else bounds it is measured, modelled or asked for.

How an instrument reads (the length of a block, how often a queue is looked at) stands beside the instrument.
"""

WORTH = 1.05
"""The least gain that is worth a change: the gain's interval must lie above it. Below 5 % a loader's own day-to-day
variation hides what is gained."""

ALIKE = 1.03
"""Settings whose means differ by less are alike, and the cheaper is taken: three blocks tell no less apart."""

LEAST_PAIRS = 2
"""Pairs below which nothing is compared: one observation has no spread."""

ROUNDS = 3
"""Blocks of each setting that is in the running: with two, one disturbed block decides."""

PAIRS, MOST_PAIRS = 8, 64
"""Pairs in which a gain must show; while a gain is seen and not yet proved, up to so many more as time allows."""

MOST_WORKERS = 16
"""Workers for each core that are tried where nothing else is asked: each costs a process, its memory and descriptors.
Where samples compute, the model expects no gain long before."""

SEARCH_SHARE, PROOF_SHARE = 0.6, 0.8
"""Shares of the request's time left that the search may take, and with the proof of what it found. Stages and
experiments come after it; a setting proved is worth more to the user than any of them."""

MEMORY_SHARE = 0.75
"""The share of the memory, shared memory or descriptors left that a setting may take: the user's training needs some."""
