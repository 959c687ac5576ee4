"""What is said of the present loader's sampler, by what an epoch of it draws."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dataloader_expert.advice.sampling import beyond, keeps, nested, unmixed, unseen, weighting
from dataloader_expert.checks.base import CLASS_COUNTS
from dataloader_expert.checks.labels.classes import LABELS_MISSING
from dataloader_expert.errors import fields_are
from dataloader_expert.facts import Facts
from dataloader_expert.probes.data.layout import PRESENT, SAMPLES
from dataloader_expert.probes.data.scan import SCANNED
from dataloader_expert.probes.experiments.epochs import DRAWN
from dataloader_expert.probes.experiments.present_epoch import BEYOND, NESTED, WEIGHED
from dataloader_expert.probes.experiments.sampler_simulation import STRATEGY, _candidates
from dataloader_expert.sources.base import Field
from dataloader_expert.tools.recipes.suggest_sampler import simulation, too_few, unlabelled
from tests.advice.test_epochs import codes_of, facts_of


def drawn(classes: list[int], unique: float, repeats: int) -> dict[str, Any]:
    return {"classes": classes, "unique_fraction": unique, "max_repeats": repeats, "epoch_samples": sum(classes)}


def sampled(
    name: str, classes: list[int], unique: float = 1.0, repeats: int = 1, plain: tuple[int, int] = (1200, 100)
) -> Facts:
    return facts_of(
        (PRESENT, {"sampler": name}, {}),
        (SAMPLES, 1300, {}),
        (DRAWN, drawn(classes, unique, repeats), {"strategy": "present"}),
        (DRAWN, drawn([*plain], 1.0, 1), {"strategy": "random"}),
    )


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        (sampled("WeightedRandomSampler", [650, 650], 0.47, 15), [("samples-never-seen", "info")]),
        (sampled("WeightedRandomSampler", [1300, 0], 0.0015, 900),
         [("samples-never-seen", "warning"), ("severe-imbalance", "warning")]),  # class weights: two samples are drawn
        (sampled("WeightedRandomSampler", [1200, 100]), [("severe-imbalance", "warning")]),  # without replacement
        (sampled("WeightedRandomSampler", [1290, 10], 0.62, 4),
         [("samples-never-seen", "info"), ("severe-imbalance", "warning")]),  # weights inverted
        (sampled("WeightedRandomSampler", [700, 600], 0.95, 3, plain=(700, 600)), []),
        (sampled("WeightedRandomSampler", [1190, 110], 0.7, 4),
         [("samples-never-seen", "info"), ("severe-imbalance", "info")]),  # weights by source, say
        (sampled("DistributedSampler", [600, 50], 0.5), []),
        (sampled("RandomSampler", [600, 50], 0.5), [("samples-never-seen", "warning")]),
        (sampled("WeightedRandomSampler", [30, 30], 0.044, 2), [("samples-never-seen", "info")]),
        (sampled("Mine", [1200, 100], 0.94, 2), [("samples-never-seen", "warning")]),
        (sampled("Mine", [700, 600], 0.94, 9), []),
        (sampled("Mine", [1200, 100], 0.97), []),
        (sampled("Mine", [650, 650], 0.47, 12), [("samples-never-seen", "info")]),
        (sampled("Mine", [100, 100], 0.15), [("samples-never-seen", "info")]),
        (sampled("SubsetRandomSampler", [960, 80], 0.8), [("samples-never-seen", "info")]),
        (sampled("SubsetRandomSampler", [1040, 0], 0.8), [("samples-never-seen", "warning")]),
    ],
    ids=["sound", "class weights", "no replacement", "inverted", "nothing to balance", "for something else", "a rank", "a half",
         "short and balanced", "some twice for others", "some twice to balance", "a remainder", "batches of equal classes", "fewer of the frequent",
         "a split", "a split by class"],
)  # fmt: skip
def test_a_sampler_is_judged_by_what_it_draws(facts: Facts, told: list[tuple[str, str]]) -> None:
    """Our promise: weights that balance nothing are told, and what weights or ranks leave out by design is no fault."""
    assert [(f.code, f.severity) for rule in (unseen, weighting) for f in rule(facts)] == told
    assert codes_of(facts, unseen, weighting) == [code for code, _ in told]


@pytest.mark.parametrize(
    ("weighed", "told", "cure"),
    [
        ({"zero": 0, "weights": 2, "classes": []}, "draws the first 2 of 1,300 samples", "one weight per sample"),
        ({"zero": 0, "weights": 1300, "classes": []}, "draws only 40 of them", "num_samples"),
        ({"zero": 90, "weights": 1300, "classes": ["wasp"]}, "90 of 1,300 samples, all of class wasp", "give them a weight"),
    ],
    ids=["weights of classes", "short epochs", "a weight of zero"],
)  # fmt: skip
def test_why_samples_are_never_drawn_is_told(weighed: dict[str, Any], told: str, cure: str) -> None:
    """Seen: a small num_samples was called weights per class, and a class without weight was to come in other epochs."""
    facts = facts_of(
        (PRESENT, {"sampler": "WeightedRandomSampler"}, {}),
        (SAMPLES, 1300, {}),
        (WEIGHED, weighed, {}),
        (DRAWN, drawn([20, 20], 0.03, 2), {"strategy": "present"}),
    )
    (found, *_) = unseen(facts)
    assert found.severity == "warning"
    assert told in found.message
    assert cure in (found.fix or "")


def test_a_batch_sampler_passed_as_a_sampler_is_an_error() -> None:
    """Seen: batches of batches were not noticed."""
    facts = facts_of((PRESENT, {"sampler": "BatchSampler"}, {}), (NESTED, 16, {}))
    (found,) = nested(facts)
    assert "batch_sampler=" in (found.fix or "")


@pytest.mark.parametrize(
    ("name", "now", "told"),
    [("SequentialSampler", 1.3, ["batches-miss-classes"]), ("SequentialSampler", 8.0, []), ("GroupBatchSampler", 1.3, [])],
    ids=["by class", "mixed", "meant"],
)  # fmt: skip
def test_samples_stored_by_class_and_not_shuffled_are_told(name: str, now: float, told: list[str]) -> None:
    """Our promise: a batch of one class is told where only the order of the data makes it, not where a sampler wants it."""
    each = {"classes": [100] * 10, "unique_fraction": 1.0, "max_repeats": 1}
    facts = facts_of(
        (PRESENT, {"sampler": name}, {}),
        (DRAWN, {**each, "classes_per_batch": now}, {"strategy": "present"}),
        (DRAWN, {**each, "classes_per_batch": 9.5}, {"strategy": "random"}),
    )
    assert codes_of(facts, unmixed) == told


def test_indices_beyond_the_end_are_told_with_the_first() -> None:
    """Our promise: an error before training, with the index, rather than an IndexError after hours."""
    facts = facts_of(
        (PRESENT, {"sampler": "SubsetRandomSampler"}, {}),
        (BEYOND, {"count": 100, "first": 1028, "samples": 1000}, {}),
    )
    (found,) = beyond(facts)
    assert (found.code, found.severity) == ("sample-raises", "error")
    assert "100 indices beyond the end of the dataset, such as 1,028" in found.message


def test_batches_of_several_samples_of_each_class_repeat_on_purpose() -> None:
    """Seen: batches for a triplet loss were to be drawn without replacement."""
    facts = facts_of(
        (PRESENT, {"sampler": "PK"}, {}),
        (SAMPLES, 1300, {}),
        (DRAWN, {**drawn([700, 500, 80], 0.6, 5), "even": 1.0}, {"strategy": "present"}),
        (DRAWN, drawn([700, 500, 100], 1.0, 1), {"strategy": "random"}),
    )
    (found,) = unseen(facts)
    assert found.severity == "info"
    assert "each batch holds the same number of samples of each of its classes" in found.message


def test_classes_that_a_subset_leaves_out_are_named() -> None:
    """Our promise: the first part of samples that are sorted by class is no training split."""
    names = {"class_names": ["bee", "wasp"]}
    facts = facts_of(
        (PRESENT, {"sampler": "SubsetRandomSampler"}, {}),
        (SAMPLES, 1300, {}),
        (DRAWN, drawn([1040, 0], 0.8, 1), {"strategy": "present"}),
        (DRAWN, {**drawn([1040, 260], 1.0, 1), **names}, {"strategy": "random"}),
    )
    (found,) = unseen(facts)
    assert "none of class wasp" in found.message
    assert "shuffle the indices before splitting" in (found.fix or "")


def suggested(kind: str, present: dict[str, Any], **other: Any) -> Facts:
    padding = {"padding_before": None, "padding_after": None}
    return facts_of(
        (PRESENT, {"sampler": "Mine"}, {}),
        (SAMPLES, 1300, {}),
        (STRATEGY, {"strategy": kind, "why": "it suits"}, {}),
        (DRAWN, {**padding, **present}, {"strategy": "present"}),
        (DRAWN, {**padding, **drawn([655, 645], 0.5, 14), **other}, {"strategy": kind}),
        (DRAWN, {**padding, **drawn([1200, 100], 1.0, 1)}, {"strategy": "random"}),
    )


BY_LENGTH = {**drawn([1200, 100], 1.0, 1), "padding_before": 0.8}


@pytest.mark.parametrize(
    ("facts", "objective", "stays"),
    [
        (suggested("weighted", drawn([640, 660], 0.5, 12)), "balanced", True),
        (suggested("weighted", drawn([1010, 290], 0.7, 5)), "auto", True),
        (suggested("weighted", drawn([1010, 290], 0.7, 5)), "balanced", False),
        (suggested("weighted", drawn([1200, 100], 1.0, 1)), "auto", False),
        (suggested("length-bucketed", {**BY_LENGTH, "padding_after": 0.1}, padding_before=0.8, padding_after=0.12), "auto", True),
        (suggested("length-bucketed", {**BY_LENGTH, "padding_after": 0.7}, padding_before=0.8, padding_after=0.12), "auto", False),
    ],
    ids=["balanced", "by square root", "not as asked", "plain", "by length", "mixed lengths"],
)  # fmt: skip
def test_a_present_sampler_that_does_what_is_suggested_stays(facts: Facts, objective: str, stays: bool) -> None:
    """Seen: a sound weighted sampler was to be replaced by one that draws the same."""
    assert (keeps(facts, objective) is not None) == stays


def test_a_shuffle_of_a_part_stays() -> None:
    """Seen: a shuffle of all samples, of which a fifth was held out for validation."""
    facts = facts_of(
        (PRESENT, {"sampler": "SubsetRandomSampler"}, {}),
        (SAMPLES, 1300, {}),
        (STRATEGY, {"strategy": "random", "why": "it suits"}, {}),
        (DRAWN, drawn([960, 80], 0.8, 1), {"strategy": "present"}),
        (DRAWN, drawn([1200, 100], 1.0, 1), {"strategy": "random"}),
    )
    assert "it draws" in (keeps(facts, "auto") or "")


def test_samples_without_a_label_are_told() -> None:
    """Seen: of a table with labels for 135 of 900 rows it was said that a plain shuffle is enough."""
    some, few = (facts_of((LABELS_MISSING, n, {}), (SCANNED, {"read": 900}, {})) for n in (765, 9))
    assert " 765 of 900 samples (85%) have no label" in unlabelled(some)
    assert unlabelled(few) == unlabelled(facts_of()) == ""


def test_labels_withheld_from_test_are_none_that_training_lacks() -> None:
    """Seen: 'draw only labelled samples' where all samples without a label were those of the test split."""
    missing = [(LABELS_MISSING, 12, {}), (LABELS_MISSING, 0, {"split": "train"}), (SCANNED, {"read": 62}, {})]
    facts = facts_of(*missing, (CLASS_COUNTS, {"cat": 25, "dog": 25}, {"split": "train"}))
    assert unlabelled(facts) == ""
    partly = facts_of(
        *missing[:1], (LABELS_MISSING, 10, {"split": "train"}), (CLASS_COUNTS, {"cat": 40}, {"split": "train"})
    )
    assert " 10 of 50 samples for training (20%) have no label" in unlabelled(partly)


def test_a_batch_that_no_epoch_fills_is_told() -> None:
    """Seen: nothing was said of batches of 5,000 from 900 samples."""
    drawn = {
        "epoch_samples": 900,
        "unique_fraction": 1.0,
        "max_repeats": 1,
        "rarest_mean_repeats": None,
        "classes_per_batch": None,
    }
    epoch = simulation(
        drawn | dict.fromkeys(("batches_missing_class", "padding_before", "padding_after")) | {"ranks": 1}
    )
    assert epoch is not None
    assert "Its 900 samples do not fill a batch of 5,000: lower batch_size" in too_few(epoch, 5000)
    assert "do not fill a batch of 300 on each of 4 ranks" in too_few(epoch.model_copy(update={"ranks": 4}), 300)
    assert too_few(epoch, 900) == too_few(epoch, None) == ""


def test_a_misspelt_field_is_asked_after() -> None:
    assert fields_are("churned", ["tenure", "churn"]) == "did you mean churn? fields are: tenure, churn"
    assert fields_are("x", ["tenure", "churn"]) == "fields are: tenure, churn"


@pytest.mark.parametrize(
    ("how", "said"), [("guessed from its place", "a field, such as level"), ("as asked", "a field that says so")]
)
def test_a_label_that_is_only_guessed_may_be_the_difficulty(how: str, said: str) -> None:
    """Seen: of problems with a level from 1 to 5 no field was named that may say how hard they are."""
    fields = (Field("problem", "text", "str"), Field("level", "category", "int64"))
    bench: Any = SimpleNamespace(source=SimpleNamespace(fields=fields, label="level", label_how=how))
    assert _candidates(bench, "a field") == said
