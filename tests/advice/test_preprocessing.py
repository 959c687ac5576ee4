"""What is to be made of a batch's fields: classes stay classes, and texts that no model is fed stay texts."""

from __future__ import annotations

from typing import Any

import pytest

from dataloader_expert.advice.models import refusing
from dataloader_expert.checks.base import STATISTICS, VALUES
from dataloader_expert.checks.common.class_maps import CLASS_MAP
from dataloader_expert.facts import Evidence, Fact, Facts
from dataloader_expert.probes.data.layout import FIELDS, LABEL
from dataloader_expert.probes.model.batch import BATCH, COLLATE
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
            "n": 100,
            "treatment": None,
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


def with_shapes(shapes: dict[str, tuple[list[Any], list[Any], bool]], collate: str, dtype: str = "float32") -> Facts:
    """``shapes``: by name, that of a sample, that in a batch, and whether it is a list there; ``collate``: its name."""
    found = Facts()
    batch = [
        {"name": n, "dtype": dtype, "shape": s, "bytes_per_sample": 8, "host": h, "variable": None in s}
        for n, (_, s, h) in shapes.items()
    ]
    stored = [{"name": n, "kind": "array", "dtype": dtype, "shape": s} for n, (s, _, _) in shapes.items()]
    found.add(Fact(BATCH, {"structure": "dict", "fields": batch}, SEEN))
    found.add(Fact(FIELDS, stored, SEEN))
    found.add(Fact(COLLATE, {"name": collate, "size": None, "why": "", "varying": []}, SEEN))
    return found


@pytest.mark.parametrize(
    ("shapes", "collate", "says"),
    [
        ({"x": ([3], ["B", 3], False)}, "default", "all samples have the same shape"),
        ({"x": ([3], ["B", 3], False)}, "mine", "all samples have the same shape"),
        ({"x": ([None], ["B", None], False)}, "pad", "padded to the longest sample of the batch"),
        (
            {"x": ([None], ["B", None], False)},
            "mine",
            "padded to the longest sample of the batch by your collate function",
        ),
        ({"x": ([None], ["B", 64], False)}, "mine", "the collate function brings samples to one shape"),
        ({"x": ([None, 5], [None, 5], False)}, "mine", "samples of different sizes are concatenated"),
        ({"x": ([3, None], ["B", 3, None], True)}, "pad", "samples of different shapes stay a list (x)"),
    ],
)
def test_what_is_done_about_shapes_is_what_the_batch_shows(shapes: Any, collate: str, says: str) -> None:
    """Seen: "samples agree in shape" of ragged samples that a collate function of the user's pads."""
    assert preprocessing(with_shapes(shapes, collate), 1 << 30).resize == f"none: {says}"


def test_what_is_not_texts_is_not_called_so() -> None:
    """Seen: "texts are rarely augmented" of spectrograms with their transcripts."""
    spectra = with_shapes({"x": ([None, 24], ["B", None, 24], False)}, "mine")
    assert preprocessing(spectra, 1 << 30).augmentation.startswith("none suggested")
    assert preprocessing(facts({"text": ("text", "str")}), 1 << 30).augmentation == "none: texts are rarely augmented"


def test_lengths_and_edges_that_a_model_takes_stay_whole() -> None:
    """Seen: "torch.float32 from int64" of lengths and of edges, with which the model runs."""
    given = facts({"x": ("array", "float32"), "lengths": ("number", "int64")})
    taken = {**NOT_MADE, "accepted": True, "inputs": ["x", "lengths"], "call": ["x"], "fed": "x; lengths"}
    given.add(Fact(MODEL, taken, SEEN))
    assert dtype_of(given) == "torch.float32; torch.int64"


def of_a_recording(collate: str = "pad") -> Facts:
    """A recording of varying length beside a class, an age and, of a tuple, its length; all were read."""
    found = Facts()
    names = {"0.0": "float32", "0.1": "int64", "1": "int64", "2": "int64"}
    batch = [
        {
            "name": n,
            "dtype": d,
            "shape": ["B", None][: 1 + (n == "0.0")],
            "bytes_per_sample": 8,
            "host": False,
            "variable": n == "0.0",
        }
        for n, d in names.items()
    ]
    fields = {
        "0": ("sequence", "float32", [None], 9.0),
        "1": ("number", "int64", [], 5.0),
        "2": ("number", "int64", [], 90.0),
    }
    found.add(Fact(BATCH, {"structure": "tuple", "fields": batch}, SEEN))
    found.add(
        Fact(FIELDS, [{"name": n, "kind": k, "dtype": d, "shape": s} for n, (k, d, s, _) in fields.items()], SEEN)
    )
    found.add(Fact(COLLATE, {"name": collate, "size": None, "why": "", "varying": ["0"]}, SEEN))
    for name, (*_, most) in fields.items():
        seen = {
            "outliers": None,
            "n": 100,
            "treatment": None,
            "mean": 3.0,
            "std": 2.0,
            "min": 0.0,
            "max": most,
            "distribution": "normal",
        }
        found.add(Fact(STATISTICS, seen, SEEN, {"field": name}))
    return found


def test_few_whole_numbers_beside_arrays_are_no_measures() -> None:
    """Seen: the number of an activity beside its window of acceleration was to be standardized and made float32, as were the lengths."""
    made = preprocessing(of_a_recording(), 1 << 30)
    assert made.normalization is not None and set(made.normalization["mean"]) == {"0", "2"}
    assert made.dtype == "torch.float32 from int64; torch.int64"  # an age is one


def test_fields_that_were_not_read_stay_as_they_are() -> None:
    """Seen: ids of tokens were to be made float32 where no time was left to read samples."""
    found = Facts()
    fields = [
        {"name": n, "dtype": "int64", "shape": ["B", 64], "bytes_per_sample": 8, "host": False} for n in ("ids", "mask")
    ]
    found.add(Fact(BATCH, {"structure": "dict", "fields": fields}, SEEN))
    assert dtype_of(found) == "torch.int64"


@pytest.mark.parametrize(
    ("inputs", "says"), [(["idx", "x"], "torch.float32; torch.int64 ids"), (["x"], "torch.float32")]
)
def test_what_the_model_looks_up_is_no_row_number(inputs: list[str], says: str) -> None:
    """Seen: of a language model that calls its tokens idx, that its input is to be classes."""
    found = Facts()
    shapes = {"idx": ("int64", ["B", 64]), "x": ("float32", ["B", 3]), "grade": ("int64", ["B"])}
    found.add(Fact(LABEL, {"name": "grade"}, SEEN))
    fields = [{"name": n, "dtype": d, "shape": s, "bytes_per_sample": 8, "host": False} for n, (d, s) in shapes.items()]
    found.add(Fact(BATCH, {"structure": "dict", "fields": fields}, SEEN))
    found.add(Fact(MODEL, {**NOT_MADE, "codes": ["idx"], "inputs": inputs}, SEEN))
    assert dtype_of(found) == says


@pytest.mark.parametrize(
    ("error", "fix"),
    [
        (
            "TypeError: missing 'hidden'; pass its arguments as model_args: Net(hidden)",
            "pass the arguments that it requires in model_args",
        ),
        ("FileNotFoundError: best.pt", "make it alone in Python first, then pass the same model and model_args"),
    ],
)
def test_a_model_that_lacks_arguments_is_to_be_given_them(error: str, fix: str) -> None:
    """Seen: it was to be made alone first, beside an error that names the arguments."""
    found = Facts()
    found.add(Fact(MODEL, {**NOT_MADE, "error": error}, SEEN))
    assert [f.fix for f in refusing(found)] == [fix]
