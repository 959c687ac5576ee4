"""What the original JASPER dataset accepted at open: each fault was planted in it, and it ran."""

from __future__ import annotations

from typing import Any

from dataloader_expert.loaders.jasper import dataset, integrity, opening, tables
from tests.weaknesses.base import Weakness, planted

SYSTEM = "JASPER, accepted at open"
OPENING = "tests/loaders/test_jasper_integrity.py::test_"
FAULT = OPENING + "a_fault_is_refused_at_open"


def _nothing(*given: Any) -> None:
    """Checks nothing."""


UNCHECKED = planted((opening, "check", _nothing), (dataset, "check_split", _nothing))
AS_STORED = planted((tables, "_integers", lambda tensor, name: tensor))

FAULTS = {
    "a negative row of questions": "question negative",
    "a negative row of sources": "source negative",
    "a negative row among the hard negatives": "negative below 0",
    "a negative pair in a split": "split below 0",
    "a cluster that does not exist": "cluster too large",
    "a negative cluster": "cluster negative",
    "too few clusters": "clusters too short",
    "too few relevances": "relevance too short",
    "too few distances": "distances too short",
    "too few hard negatives": "negatives too short",
    "too few tiers": "tiers too short",
    "a tier 5": "tier 5",
    "a tier 0": "tier 0",
    "a keyword that does not exist": "keyword too large",
    "too few keyword lists": "keyword lists too few",
    "NaN in embeddings": "NaN in questions",
    "infinity in steering vectors": "Inf in steering",
    "a relevance above 1": "relevance above 1",
    "NaN as relevance": "relevance NaN",
    "a pair twice in a split": "split with a pair twice",
    "half beside single precision": "half and single precision",
}

WEAKNESSES = [
    *(Weakness(SYSTEM, says, f"{FAULT}[{fault}]", UNCHECKED) for says, fault in FAULTS.items()),
    Weakness(SYSTEM, "splits that overlap", OPENING + "splits_that_overlap_are_refused[val]", UNCHECKED),
    Weakness(
        SYSTEM,
        "a negative that is the positive, in silence",
        OPENING + "a_negative_that_is_the_positive_is_warned_of",
        planted((integrity.logger, "disabled", True)),
    ),
    Weakness(SYSTEM, "rows of floats, until the first item", f"{FAULT}[pair_index of floats]", AS_STORED),
    Weakness(
        SYSTEM,
        "int32, which then is in the batches",
        OPENING + "narrow_integers_are_accepted_as_int64[pair_cluster_id-torch.int32]",
        AS_STORED,
    ),
]
