"""Data sets whose truth was computed by others, or put in by us, characterised through the tool.

Real ones are those of a MANIFEST.json, if such a folder is there (see ``tests.making.shared``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dataloader_expert.errors import RequestError
from dataloader_expert.tools.characterize_dataset import Result, Statistics
from tests.making.asking import Asker
from tests.making.foreign import FOREIGN
from tests.making.shared import manifest, real, shared
from tests.making.tiny import TINY, Made

FOLDER = shared()
REAL = {} if FOLDER is None else manifest(FOLDER)


@dataclass(frozen=True)
class Part:
    """A part of a real data set that is of one format. ``file``: the manifest says its facts by file."""

    name: str
    below: str
    format: str
    modality: str
    label: str | None = None
    split: bool = True
    file: str | None = None
    group: str = ""


PARTS = {
    "cifar as jpeg": Part("images.cifar10_jpg", "", "image-folder", "image", group="cifar"),
    "cifar as tar": Part("reenc.cifar10_wds", "", "webdataset", "image", group="cifar"),
    "cifar as parquet": Part("reenc.cifar10_parquet", "", "parquet", "image", group="cifar"),
    "cifar as hf": Part("reenc.cifar10_hf", "", "hf-disk", "image", group="cifar"),
    "cifar as npz": Part("reenc.cifar10_npz", "", "npz", "image", group="cifar"),
    "clothing": Part("images.clothing_cc0", "", "image-folder", "image"),
    **{
        f"digits as {kind}": Part("arrays.digits", kind, kind, modality, group="digits")
        for kind, modality in {
            **dict.fromkeys(("npz", "npy", "pt", "safetensors"), "image"),
            **dict.fromkeys(("csv", "parquet"), "tabular"),
            "jsonl": "array",
        }.items()
    },
    "digits as HDF5": Part("arrays.digits", "h5", "hdf5", "image", group="digits"),
    "titanic as csv": Part("tabular.titanic", "titanic.csv", "csv", "tabular", group="titanic"),
    "titanic as parquet": Part("tabular.titanic", "titanic.parquet", "parquet", "tabular", group="titanic"),
    "penguins": Part("tabular.penguins", "penguins.csv", "csv", "tabular", file="penguins.csv"),
    "penguins, raw": Part("tabular.penguins", "penguins_raw.csv", "csv", "tabular", file="penguins_raw.csv"),
    "taxis as csv": Part("tabular.taxis", "taxis.csv", "csv", "tabular", "payment", group="taxis"),
    "taxis as Feather": Part("tabular.taxis", "taxis.feather", "arrow", "tabular", "payment", group="taxis"),
    "taxis as parquet": Part("tabular.taxis", "parquet", "parquet", "tabular", "payment", group="taxis"),
    "diamonds": Part("tabular.diamonds", "", "parquet", "tabular", "cut"),
    "messages as tsv": Part("text.sms_spam", "*.tsv", "tsv", "text", split=False, group="messages"),
    "messages as jsonl": Part("text.sms_spam", "jsonl", "jsonl", "text", group="messages"),
    "sums": Part("text.gsm8k_test", "", "jsonl", "text"),
    "shakespeare": Part("text.tinyshakespeare", "", "text", "text"),
    "embeddings as npy": Part("embeddings.sms_lsa32", "*.npy", "npy", "embedding", group="embeddings"),
    "embeddings as npz": Part("embeddings.sms_lsa32", "npz", "npz", "embedding", group="embeddings"),
    "embeddings as parquet": Part("embeddings.sms_lsa32", "parquet", "parquet", "embedding", group="embeddings"),
    "spoken digits": Part("audio.fsdd", "", "audio-folder", "audio"),
    "vowels as npy": Part("sequences.japanese_vowels", "npy", "npy", "sequence", group="vowels"),
    "vowels as npz": Part("sequences.japanese_vowels", "npz_ragged", "npz", "sequence", group="vowels"),
    "vowels as parquet": Part("sequences.japanese_vowels", "parquet", "parquet", "sequence", group="vowels"),
    "odd images": Part("odd.pillow_tests", "", "image-folder", "image"),
    "turned images": Part("odd.exif_orientation", "", "image-folder", "image"),
}
UNREAD = {
    "digits in eight formats": ("arrays.digits", "", ("HDF5", "csv", "jsonl", "npy", "npz", "parquet", "pt")),
    "taxis in three formats": ("tabular.taxis", "", ("arrow", "csv", "parquet")),
    "embeddings in three formats": ("embeddings.sms_lsa32", "", ("npy", "npz", "parquet")),
    "vowels as ts": ("sequences.japanese_vowels", "ts", (".ts",)),
    "blood cells as YOLO": ("detection.bccd", "labels", ("YOLO",)),
    "blood cells as VOC": ("detection.bccd", "annotations/voc", ("VOC",)),
    "blood cells as COCO": ("detection.bccd", "annotations/*.json", ("COCO",)),
}


def made_of(part: Part) -> Made:
    assert FOLDER is not None
    entry = REAL[part.name]
    path = FOLDER / entry["path"] / part.below
    truth: dict[str, Any] = entry["truth"] if part.file is None else entry["truth"][part.file]
    classes = dict(truth.get("class_counts_total", {}))
    if not classes:
        for counts in truth.get("class_counts", {}).values():
            for name, n in counts.items():
                classes[name] = classes.get(name, 0) + n
    classes.pop("<missing>", None)
    missing = {name: column["nulls"] for name, column in truth.get("column_facts", {}).items() if column["nulls"]}
    return Made(
        str(path),
        FOLDER,
        part.format,
        part.modality,
        truth["samples"],
        len(places(path)),
        truth.get("splits", {}) if part.split else {},
        classes,
        missing,
        part.label,
        group=part.group,
    )


def places(path: Path) -> list[Path]:
    """The files that a path or a pattern names, found without our listing."""
    if path.is_file():
        return [path]
    return [p for p in (path.rglob("*") if path.is_dir() else path.parent.glob(path.name)) if p.is_file()]


CASES = [*(f"tiny: {name}" for name in TINY), *real(PARTS)]
GROUPS = [
    *("tiny: pictures", "tiny: sequences", "tiny: vectors", "tiny: table", "tiny: texts"),
    *real(("cifar", "digits", "titanic", "taxis", "messages", "embeddings", "vowels")),
]
Characterized = Callable[[str], tuple[Made, Result]]


@pytest.fixture(scope="module")
def characterized(asker: Asker, tmp_path_factory: pytest.TempPathFactory) -> Characterized:
    """A case's truth and what the tool says of it; each is asked once."""
    known: dict[str, tuple[Made, Result]] = {}

    def of(case: str) -> tuple[Made, Result]:
        if case not in known:
            name = case.removeprefix("tiny: ")
            made = made_of(PARTS[case]) if name == case else TINY[name](tmp_path_factory.mktemp("tiny"))
            result = asker.ask("characterize_dataset", made.source, str(made.root), label=made.label)
            assert isinstance(result, Result)
            known[case] = made, result
        return known[case]

    return of


@pytest.mark.parametrize("case", CASES)
def test_a_data_set_is_characterised_as_it_is(characterized: Characterized, case: str) -> None:
    """Our promise: format, modality, samples, files, splits, classes and missing values are exact."""
    made, result = characterized(case)
    assert (result.format, result.modality) == (made.format, made.modality)
    assert result.samples == made.samples
    assert result.files == (None if made.code else made.files)
    assert {s.name: s.samples for s in result.splits or ()} == made.splits
    assert (result.classes.counts if result.classes else {}) == made.classes
    assert {f.name: f.missing for f in result.fields if f.missing} == made.missing
    if result.classes is not None:
        ratio = max(made.classes.values()) / min(made.classes.values())
        assert math.isclose(result.classes.imbalance_ratio, ratio, rel_tol=1e-4)
        assert result.classes.missing == made.missing.get(result.classes.label, 0)


@pytest.mark.parametrize("case", CASES)
def test_every_sample_is_looked_at(characterized: Characterized, case: str) -> None:
    """Our promise: where the budget allows it coverage is complete, and says so."""
    made, result = characterized(case)
    assert result.coverage.complete
    assert result.coverage.samples_total == made.samples
    if case != "odd images":
        assert result.coverage.samples_read == made.samples


@pytest.mark.parametrize("case", CASES)
def test_fractions_of_the_splits_add_up(characterized: Characterized, case: str) -> None:
    """Our promise: a split's fraction is its share of the samples."""
    made, result = characterized(case)
    for split in result.splits or ():
        assert math.isclose(split.fraction, made.splits[split.name] / sum(made.splits.values()), abs_tol=1e-6)


@pytest.mark.parametrize("group", GROUPS)
def test_the_same_data_in_other_formats_give_the_same(characterized: Characterized, group: str) -> None:
    """Our promise: counts, classes and statistics do not depend on how the samples are stored."""
    results = [result for made, result in map(characterized, members(group))]
    assert len(results) > 1
    first = results[0]
    for other in results[1:]:
        assert other.samples == first.samples
        assert (other.classes and other.classes.counts) == (first.classes and first.classes.counts)
        a, b = contents(first), contents(other)
        if len(a) == len(b):
            for mine, theirs in zip(a, b, strict=True):
                assert theirs == pytest.approx(mine, rel=1e-6, abs=1e-9, nan_ok=True), other.format
        assert pooled(b) == pytest.approx(pooled(a), rel=1e-6, abs=1e-9), other.format


def members(group: str) -> list[str]:
    if group.startswith("tiny: "):
        wanted = group.removeprefix("tiny: ")
        return [f"tiny: {name}" for name in TINY if GROUP_OF[name] == wanted]
    return [case for case, part in PARTS.items() if part.group == group]


GROUP_OF = {
    **dict.fromkeys(TINY, ""),
    **dict.fromkeys(("image-folder", "npz, shards", "parquet, images inside", "hf-disk", "webdataset"), "pictures"),
    **dict.fromkeys(("npz, ragged by offsets", "npy, one sample a file"), "sequences"),
    **dict.fromkeys(("npy, side by side", "pt", "safetensors", "parquet, lists inside"), "vectors"),
    **dict.fromkeys(("hdf5", "hdf5, a group of datasets per split"), "vectors"),
    **dict.fromkeys(
        ("parquet, a folder of files", "parquet, hive partitions", "arrow, file", "arrow, stream"), "table"
    ),
    **dict.fromkeys(("csv", "tsv", "json", "jsonl", "jsonl, objects", "parquet, objects"), "table"),
    "csv, labels in the order of the rows": "table",
    **dict.fromkeys(("jsonl, texts", "text"), "texts"),
}


RICH = ("image", "audio", "text", "tokens", "sequence", "embedding", "array")


def contents(result: Result) -> list[dict[str, float]]:
    """The statistics of the fields that make the samples, without label, identifiers and names."""
    kinds = {f.name: f.kind for f in result.fields if result.classes is None or f.name != result.classes.label}
    rich = [n for n, kind in kinds.items() if kind in RICH] or [n for n, kind in kinds.items() if kind == "number"]
    out: list[Statistics] = []
    for name in rich:
        made = result.statistics[name]
        out += made.values() if isinstance(made, dict) else [made]
    flat = [numbers(s) for s in out]
    return sorted(flat, key=lambda s: (s["mean"], s["std"]))


def numbers(s: Statistics) -> dict[str, float]:
    plain = s.model_dump(include={"mean", "std", "min", "max", "skewness", "kurtosis", "zeros", "nan", "inf", "n"})
    made = {**plain, **(s.quantiles or {})}
    return {k: math.nan if v is None else float(v) for k, v in made.items()}


def pooled(parts: list[dict[str, float]]) -> dict[str, float]:
    """Mean, standard deviation, extremes and zeros over all parts together."""
    n = sum(p["n"] for p in parts)
    mean = sum(p["n"] * p["mean"] for p in parts) / n
    square = sum(p["n"] * (p["std"] ** 2 + p["mean"] ** 2) for p in parts) / n
    return {
        "n": n,
        "mean": mean,
        "std": math.sqrt(max(square - mean**2, 0)),
        "min": min(p["min"] for p in parts),
        "max": max(p["max"] for p in parts),
        "zeros": sum(p["zeros"] for p in parts),
    }


UNREADABLE = [*(f"made: {name}" for name in FOREIGN), *real(UNREAD)]


@pytest.mark.parametrize("case", UNREADABLE)
def test_what_is_not_read_is_refused_by_its_name(asker: Asker, tmp_path: Path, case: str) -> None:
    """Our promise: format-unknown says what was seen and how to go on."""
    if case in UNREAD:
        assert FOLDER is not None
        name, below, words = UNREAD[case]
        source, root = str(FOLDER / REAL[name]["path"] / below), FOLDER
    else:
        build, words = FOREIGN[case.removeprefix("made: ")]
        build(tmp_path)
        source, root = str(tmp_path), tmp_path
    with pytest.raises(RequestError) as error:
        asker.ask("characterize_dataset", source, str(root))
    assert error.value.code == "format-unknown"
    said = error.value.message
    assert [word for word in words if word not in said.split("or pass format=")[0]] == []


if FOLDER is not None:

    def test_images_that_do_not_decode_are_those_that_are_known_not_to(characterized: Characterized) -> None:
        """Pillow's own test images: those that it refuses are refused, and JPEG 2000, which is never tried."""
        made, result = characterized("odd images")
        folder = Path(made.source)
        refused = set(REAL["odd.pillow_tests"]["truth"]["undecodable"]) | {p.name for p in folder.glob("*.jp2")}
        assert result.coverage.samples_read == made.samples - len(refused)
        bad = [f for f in result.findings if f.code in ("unreadable", "truncated", "bomb", "not-the-format")]
        assert sum(f.count for f in bad) == len(refused)
        assert {w["file"] for f in bad for w in f.where} <= refused
