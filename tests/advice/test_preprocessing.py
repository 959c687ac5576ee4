"""What is to be made of a batch's fields: classes stay classes, and texts that no model is fed stay texts."""

from __future__ import annotations

from typing import Any

import pytest

from dataloader_expert.checks.base import STATISTICS, VALUES
from dataloader_expert.checks.common.class_maps import CLASS_MAP
from dataloader_expert.facts import Evidence, Fact, Facts
from dataloader_expert.probes.data.layout import FIELDS, LABEL
from dataloader_expert.probes.model.batch import BATCH
from dataloader_expert.probes.model.check import MODEL, NOT_MADE
from dataloader_expert.tools.recipes.batch_preprocessing import dtype_of, preprocessing

SEEN = Evidence("counted", "a test", seen=100, population=100)


def facts(fields: dict[str, tuple[str, str]], distinct: int = 4, fed: str = "", classes: tuple[str, ...] = ()) -> Facts:
    """``fields``: kind and dtype by name; ``distinct``: values of each text."""
    found = Facts()
    batch = [
        {"name": n, "dtype": d, "shape": ["B"], "bytes_per_sample": 8, "host": d == "str", "variable": False}
        for n, (_, d) in fields.items()
    ]
    stored = [{"name": n, "kind": k, "dtype": d, "shape": []} for n, (k, d) in fields.items()]
    found.add(Fact(BATCH, {"structure": "dict", "fields": batch}, SEEN))
    found.add(Fact(FIELDS, stored, SEEN))
    found.add(Fact(LABEL, {"name": "label"}, SEEN))
    for name, (kind, _) in fields.items():
        if kind == "category":
            found.add(Fact(VALUES, {"distinct": distinct, "common": []}, SEEN, {"field": name}))
        far: dict[str, Any] = {
            "outliers": {"count": 3},
            "mean": 3.0,
            "std": 2.0,
            "min": 0.0,
            "max": 9.0,
            "distribution": "normal",
        }
        found.add(Fact(STATISTICS, far, SEEN, {"field": name}))
    for name in classes:
        found.add(Fact(CLASS_MAP, True, SEEN, {"field": name}))
    if fed:
        found.add(Fact(MODEL, {**NOT_MADE, "fed": fed, "codes": ["mask"]}, SEEN))
    return found


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (facts({"city": ("category", "str"), "x": ("number", "float32")}), "torch.float32; torch.int64 codes from str"),
        (facts({"path": ("category", "str"), "x": ("number", "float32")}, distinct=100), "torch.float32"),
        (facts({"path": ("category", "str"), "x": ("number", "float32")}, fed="batch['x']"), "torch.float32"),
        (facts({"text": ("text", "str")}), "torch.int64 token ids from str"),
        (
            facts({"x": ("array", "float32"), "mask": ("array", "int64")}, fed="batch['x']", classes=("mask",)),
            "torch.float32; torch.int64 classes",
        ),
    ],
    ids=["a category", "each its own", "not fed", "texts", "a mask"],
)
def test_dtypes_are_of_what_a_model_is_fed(given: Facts, says: str) -> None:
    assert dtype_of(given) == says


def test_no_outlier_is_clipped_in_a_map_of_classes() -> None:
    """Our promise: what is to be ignored does not become a class."""
    given = facts({"x": ("array", "float32"), "mask": ("array", "int64")}, classes=("mask",))
    assert preprocessing(given, 1 << 30).outliers == "clip or use a robust scale for x"
