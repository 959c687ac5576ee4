"""The first sentence of a batch specification answers what was asked: whether the model takes the batch, and how it is made to."""

from __future__ import annotations

from typing import Any

import pytest

from dataloader_expert.conclusions import finding
from dataloader_expert.facts import Evidence, Fact, Facts, Unknown
from dataloader_expert.lab.surroundings import surroundings
from dataloader_expert.probes.model.batch import BATCH, BatchLook
from dataloader_expert.probes.model.check import MODEL, NOT_MADE
from dataloader_expert.probes.model.written import checks
from dataloader_expert.tools.base import Measured
from dataloader_expert.tools.recipes.code import loader_code
from dataloader_expert.tools.recipes.recommend_batch_spec import summary, unanswered, verdict
from dataloader_expert.tools.recommend_batch_spec import Request

SEEN = Evidence("probed", "test")
CURE = ["def adapt(batch):", "    return (batch[0].float(),), {}"]
RANGE = {
    "code": "label-out-of-range",
    "field": "the target",
    "says": "labels from 0 to 4",
    "cured": False,
    "runs": False,
}
DTYPE = {"code": "dtype-mismatch", "field": "0", "says": "dtype uint8", "cured": True, "runs": False}
PADDING = {"code": "padding-waste", "field": "0", "says": "padding counts", "cured": True, "runs": True}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"accepted": True}, "The model takes the batch."),
        ({"accepted": True, "cure": CURE}, "The model takes the batch once model_check.cure has converted it."),
        ({"accepted": True, "cure": CURE, "misfits": [PADDING]}, "The model takes the batch, with warnings."),
        (
            {"accepted": True, "cure": CURE, "misfits": [RANGE]},
            "The loss does not take the labels: labels from 0 to 4. Fix: match the labels and the model's output.",
        ),
        (
            {"accepted": False, "cure": CURE, "misfits": [DTYPE]},
            "The model does not take the batch: field 0: dtype uint8. Fix: model_check.cure, the code with which it ran.",
        ),
        (
            {"accepted": False, "error": "NotImplementedError: no forward", "got": {}},
            "The model does not take the batch: NotImplementedError: no forward.",
        ),
    ],
)
def test_the_verdict(value: dict[str, Any], said: str) -> None:
    """Seen: nothing where the model takes the batch; and a cure named as the fix of labels that no cure mends."""
    facts = Facts((Fact(MODEL, {**NOT_MADE, "ran": "real", **value}, SEEN),))
    assert verdict(facts) == said


@pytest.mark.parametrize("accepted", [True, False])
def test_what_spoils_batches_is_said_with_the_verdict(accepted: bool) -> None:
    """Seen: of a last batch that ends each epoch with an error, the summary only said that the model takes the batch."""
    fact = Fact(MODEL, {**NOT_MADE, "ran": "real", "accepted": accepted, "misfits": [] if accepted else [DTYPE]}, SEEN)
    one = finding("last-batch-breaks-model", "error", "the last batch has one sample", fact, "drop_last=True")
    bound = {"value": 65, "limited_by": "the number of training samples"}
    said = summary(Facts((fact,)), 32, "the loader's own", None, bound, [one])
    ends = "The last batch has one sample. Fix: drop_last=True."
    assert said.startswith(ends) if accepted else said.startswith("The model does not") and f" {ends}" in said


@pytest.mark.parametrize(("fed", "said"), [(True, "Some batches cannot be made: "), (False, "No batch was made: ")])
def test_a_model_that_was_fed_shows_that_batches_can_be_made(fed: bool, said: str) -> None:
    """Seen: no batch was made, and the model takes the batch."""
    known = Facts((Fact(MODEL, {**NOT_MADE, "ran": "real", "accepted": True}, SEEN),) if fed else ())
    unknown = Unknown(BatchLook.name, "RuntimeError: stack expects each tensor to be equal size")
    request = Request.model_validate({"source": "data.py:make"})
    assert unanswered(request, Measured(known, (), (unknown,), surroundings(), 1.0)).startswith(said)


def field(name: str, shape: list[Any], dtype: str = "float32", host: bool = False) -> dict[str, Any]:
    return {"name": name, "shape": shape, "dtype": dtype, "host": host}


@pytest.mark.parametrize(
    ("structure", "fields", "asserted"),
    [
        (
            "list",
            [field("0", ["B", 3, 8, 8]), field("1", ["B"], "int64")],
            ["batch[0].shape[1:]", "batch[1].shape[1:]"],
        ),
        ("tuple", [field("0", ["B", None]), field("1.boxes", ["B", 4])], ["batch[0].ndim == 2"]),
        ("Tensor", [field("data", ["B", 5])], ["tuple(batch.shape[1:]) == (5,)"]),
        ("dict", [field("x", ["B", 5])], ["tuple(batch['x'].shape[1:]) == (5,)"]),
        ("Pair", [field("x", ["B", 5])], []),
    ],
)
def test_the_code_asserts_the_shapes_of_any_batch(
    structure: str, fields: list[dict[str, Any]], asserted: list[str]
) -> None:
    """Seen: of a batch that is a tuple, code that says it checks the batch looked only whether there is one."""
    batch = {"structure": structure, "fields": fields}
    facts = Facts((Fact(BATCH, batch, SEEN),))
    for code in (checks(batch), loader_code(Request.model_validate({"source": "data"}), facts, {"batch_size": 4})):
        compile(code, "code", "exec")
        assert [part for part in asserted if part not in code] == []
        assert asserted or "assert tuple" not in code
