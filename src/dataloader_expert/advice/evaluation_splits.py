"""What validation and test should not do: draw random numbers, leave samples out, number their classes differently from training."""

from __future__ import annotations

from collections.abc import Iterator

from dataloader_expert.advice.base import Rule
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Facts
from dataloader_expert.probes.health.evaluation_splits import DROPPED, NUMBERED, REREAD


def random(facts: Facts) -> Iterator[Finding]:
    """Augmentation in evaluation: each epoch measures other samples."""
    for fact in facts.all(REREAD):
        read, differ, split = fact.value["read"], fact.value["differ"], str(fact.at["split"])
        if 2 * differ > read:
            text = f"samples of {escaped(split)} are random: {differ} of {read} differed when they were read again, and reading them draws random "
            text += "numbers, as augmentation does"
            fix = "augment in training only; for validation and test use transforms without randomness, such as a centre crop"
            yield finding("not-deterministic", "warning", text, fact, fix, [{"split": split}], differ)


def dropped(facts: Facts) -> Iterator[Finding]:
    """A last batch that is never evaluated."""
    for fact in facts.all(DROPPED):
        n, of, split = fact.value["dropped"], fact.value["samples"], str(fact.at["split"])
        text = f"the loader of {escaped(split)} drops its last batch (drop_last=True): {n} of {of} samples are not evaluated"
        fix = "set drop_last=False for validation and test"
        yield finding("batches-dropped", "warning", text, fact, fix, [{"split": split}], n)


def numbered(facts: Facts) -> Iterator[Finding]:
    """Classes that each split numbers by itself, as those of the folders that it finds."""
    for fact in facts.all(NUMBERED):
        train, other, split = fact.value["train"], fact.value["other"], str(fact.at["split"])
        moved = [(k, name, train[k]) for k, name in enumerate(other) if k < len(train) and name != train[k]]
        if moved and {name for _, name, _ in moved} & {*train}:
            said = ", ".join(f"{k} is {escaped(name)}, not {escaped(usual)}" for k, name, usual in moved[:3])
            sure, of = fact.value["by_number"], escaped(str(fact.at["train"]))
            text = f"the dataset of {escaped(split)} {'numbers' if sure else 'lists'} its classes differently from that of {of}: {said}"
            text += "" if sure else "; if labels are indices into this list, the same label means different classes"
            fix = "build one numbering from the training split, such as sorted(names), and use it for every split"
            yield finding(
                "label-conflict", "error" if sure else "warning", text, fact, fix, [{"split": split}], len(moved)
            )


RULES: tuple[Rule, ...] = (random, dropped, numbered)
