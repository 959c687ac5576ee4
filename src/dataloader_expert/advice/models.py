"""Models that reject a batch, what in it they reject, and memory that does not suffice."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from dataloader_expert.advice.base import Rule
from dataloader_expert.conclusions import Finding, Severity, finding
from dataloader_expert.errors import escaped, listed
from dataloader_expert.facts import Facts
from dataloader_expert.probes.data.layout import FORMAT
from dataloader_expert.probes.model.check import MODEL
from dataloader_expert.probes.model.memory import DEVICE_LIMIT
from dataloader_expert.probes.model.ways import COLUMNS

APPLY = "apply model_check.cure"
WARNED = ("value-range-mismatch",)
"""What runs all the same."""
UNCURED = {
    "label-out-of-range": "match the labels and the classes that the model knows",
    "model-raises": "call the model with one batch alone, in training mode too",
    "shape-mismatch": "match the sizes of the model's layers, and the batch to them",
}
"""What to do about what no change of the batch was found to mend."""
OF_COLUMNS = "name the columns that the model takes, and the label, in columns=; or make its first layer that wide"
OF_A_DATASET = "return the columns that the model takes as one tensor; or make its first layer as wide"
FAILS = ("label-out-of-range",)
"""What no loss over classes takes; of which dtype and shape a target must be depends on the loss."""


def refusing(facts: Facts) -> Iterator[Finding]:
    """What differs between a real batch and what the model takes, with the change under which it was run."""
    fact = facts.find(MODEL)
    if fact is None:
        return
    value = fact.value
    named = [m for m in value["misfits"] if m["says"]]
    refused = not value["accepted"] and all(m["code"] in WARNED for m in named)  # the range of the values is why
    for misfit in named:
        target = misfit["field"] == "the target"
        fails = misfit["code"] in FAILS and "ignore_index" not in misfit["says"]  # which a loss may have been told
        severity: Severity = "warning" if (target and not fails) or misfit["code"] in WARNED else "error"
        who = "the loss" if target else "the model"
        text = f"{'field ' * misfit['field'].isdigit()}{misfit['field']}: {misfit['says']}"
        severity = severity if misfit["cured"] or misfit["code"] in WARNED else "error"
        severity = "warning" if misfit.get("runs") else "error" if refused else severity
        fix = misfit.get("fix") or (
            f"{APPLY}: {who} ran with it"
            if misfit["cured"]
            else "match the labels and the model's output"
            if target
            else (OF_A_DATASET if facts.value(FORMAT) in ("reference", "input") else OF_COLUMNS)
            if misfit["field"] == COLUMNS
            else UNCURED.get(misfit["code"], "look at the values of a batch, and at the model's weights")
        )
        if "make its table larger" in misfit["says"]:
            fix += "; or make the embedding larger"
        yield finding(misfit["code"], severity, text, fact, fix, [{"field": misfit["field"]}])
    if not value["accepted"] and not named:
        error = str(value["error"])
        made, said = value["ran"] != "not made", whole_words(error.splitlines()[0])
        # the lines of code that the error quotes are no words of its own
        code = _code(error.partition(" (/")[0]) if made else RAISES
        if not made:
            text, fix = said, "make it alone in Python first, then pass the same model and model_args"
            fix = "pass the arguments that it requires in model_args" if "as model_args" in said else fix
        elif code == RAISES:
            text, fix = (
                f"{CALL_RAISES}{said}",
                TO_ONE if "between 0 and 1" in said else "call it with one batch outside this tool",
            )
        elif code == "memory-limit-reached":
            text = f"the model takes more memory than there is when it is called with a batch: {said}"
            fix = "use a smaller batch or model, or a machine with more memory"
        else:
            text = f"{REJECTS}{said}"
            got = listed([f"{escaped(name)} {words}" for name, words in value["got"].items()])
            fix = f"match the batch to the model: it expects {value['expected']}, and the batch has {got}"
        yield finding(code, "error", text, fact, fix)


TO_ONE = (
    "return values from 0 to 1, not standardized by mean and std; or use a loss that takes any value, such as mse_loss"
)
CALL_RAISES = "the model raises when it is called with a batch: "
REJECTS = "the model rejects a batch: "
LONGEST = 300


def whole_words(said: str) -> str:
    """An error's first line, cut between words."""
    return said if len(said) <= LONGEST else f"{said[:LONGEST].rpartition(' ')[0]} …"


OF_MEASURES = ("outliers", "collinear-fields")
"""Findings about numbers that measure something."""


def of_measures(found: Iterable[Finding], facts: Facts) -> tuple[Finding, ...]:
    """The findings without those that take ids, which the model looks up, for measures."""
    codes = set(facts.value(MODEL, {"codes": []})["codes"])
    return tuple(
        f for f in found if f.code not in OF_MEASURES or not codes or {w.get("field") for w in f.where} - codes
    )


RAISES = "model-raises"
OF_SHAPES = ("shape", "size", "dim", "expect", "must match", "mat1", "broadcast", "stack", "samples the model makes")
"""Words by which torch's errors about shapes are known."""
OF_COUNTS = re.compile(
    r"should contain \d+ elements not \d+|too many values to unpack|not enough values to unpack|has only \d+ elements"
)
"""Errors about shapes that have none of these words."""


def _code(error: str) -> str:
    if "allocate memory" in error or "out of memory" in error or error.startswith("MemoryError"):
        return "memory-limit-reached"
    if "channels" in error:
        return "channels-mismatch"
    if "index out of range" in error:
        return "out-of-range-ids"
    if error.startswith(("KeyError", "TypeError")) and ("argument" in error or "KeyError" in error):
        return "key-missing"
    if "dtype" in error or ("type" in error and "expected" in error):
        return "dtype-mismatch"
    of_shapes = any(word in error for word in OF_SHAPES) or OF_COUNTS.search(error)
    return "shape-mismatch" if of_shapes else RAISES


def too_large(facts: Facts) -> Iterator[Finding]:
    """Not even one sample fits into the device."""
    fact = facts.find(DEVICE_LIMIT)
    if fact is not None and fact.value["value"] == 0:
        text = f"not even a batch of one fits into {fact.value['room'] / 1e9:.3g} GB of device memory"
        fix = "use a smaller model, a lower precision, gradient checkpointing, an optimizer with fewer states, or a larger device"
        yield finding("batch-does-not-fit", "error", text, fact, fix)


RULES: tuple[Rule, ...] = (refusing, too_large)
