"""Which fields of the samples a model is fed, by what was seen of its call."""

from __future__ import annotations

from collections.abc import Iterable

from dataloader_expert.checks.base import STATISTICS
from dataloader_expert.checks.labels.quantities import FEW_NUMBERS
from dataloader_expert.facts import Facts
from dataloader_expert.probes.data.layout import FIELDS
from dataloader_expert.probes.model.check import MODEL


def fed_fields(facts: Facts) -> set[str] | None:
    """The fields that the model is fed; None where that is not known, as where a collate function gives them other names."""
    fed = facts.value(MODEL, {}).get("inputs")
    return None if fed is None else _named(fed, facts) or None


def unscaled_fields(facts: Facts) -> set[str]:
    """The fields whose scale does not matter to the model's layers, such as its targets."""
    return _named(facts.value(MODEL, {}).get("unscaled") or (), facts)


def _named(names: Iterable[str], facts: Facts) -> set[str]:
    """Of the samples' fields those with these names in a batch: a padded one is a pair there, next to its lengths."""
    names = set(names)
    return {f["name"] for f in facts.value(FIELDS, []) if names & {f["name"], f"{f['name']}.0"}}


def classes_beside_arrays(facts: Facts) -> set[str]:
    """The fields of which a sample has one whole number, of few values, beside arrays: what is in a picture or who made a recording, and no
    measure. Of a table, whose samples are such numbers, that is not known."""
    fields = facts.value(FIELDS, [])
    if not any(f["shape"] and f["dtype"].startswith(("float", "uint8", "int16")) for f in fields):
        return set()
    whole = (f["name"] for f in fields if not f["shape"] and f["dtype"].startswith(("int", "uint")))
    seen = {name: facts.value(STATISTICS, {"min": None, "max": None}, field=name) for name in whole}
    return {n for n, s in seen.items() if s["min"] is not None and s["max"] - s["min"] < FEW_NUMBERS}
