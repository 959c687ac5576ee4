"""Every number of the statistics against numpy, as the data lie and under names that say nothing.

The real sets are those of a MANIFEST.json, if such a folder is there; the tiny ones are always there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from dataloader_expert.tools.characterize_dataset import Result
from tests.making import oracle
from tests.making.asking import Asker
from tests.making.renaming import renamed
from tests.making.shared import real, shared
from tests.making.tiny import TINY, pictures

FOLDER = shared()


@dataclass(frozen=True)
class Case:
    """``suffixes``: of the files that hold the samples; ``reader``: the oracle's, where the format has two."""

    where: str
    format: str
    suffixes: tuple[str, ...]
    reader: str | None = None
    rename: bool = True


MADE = {
    "tiny images": Case("image-folder", "image-folder", (".png",)),
    "tiny jpegs": Case("image-folder, jpeg of several sizes, no class, no split", "image-folder", (".jpg",)),
    "tiny npz": Case("npz, shards", "npz", (".npz",)),
    "tiny npz a sample": Case("npz, one sample a file", "npz", (".npz",), rename=False),
    "tiny npy a sample": Case("npy, one sample a file", "npy", (".npy",)),
    "tiny pt": Case("pt", "pt", (".pt",)),
    "tiny hdf5": Case("hdf5", "hdf5", (".h5",)),
    "tiny safetensors": Case("safetensors", "safetensors", (".safetensors",)),
    "tiny parquet": Case("parquet, a folder of files", "parquet", (".parquet",)),
    "tiny parquet with images": Case("parquet, images inside", "parquet", (".parquet",)),
    "tiny parquet with lists": Case("parquet, lists inside", "parquet", (".parquet",)),
    "tiny csv": Case("csv", "csv", (".csv",)),
    "tiny tsv": Case("tsv", "tsv", (".tsv",), "tsv, with a header"),
    "tiny json": Case("json", "json", (".json",)),
    "tiny jsonl": Case("jsonl", "jsonl", (".jsonl",)),
    "tiny arrow": Case("arrow, stream", "arrow", (".arrow",)),
    "tiny hf": Case("hf-disk", "hf-disk", (".arrow",), rename=False),  # its own lists name its files
    "tiny tar": Case("webdataset", "webdataset", (".tar",)),
    "tiny texts": Case("text", "text", (".txt",)),
    "tiny sounds": Case("audio-folder", "audio-folder", (".wav",)),
}
REAL = {
    "photographs": Case("images/clothing_cc0/validation", "image-folder", (".jpg",)),
    "cifar as npz": Case("reenc/cifar10_npz", "npz", (".npz",)),
    "cifar as hf": Case("reenc/cifar10_hf", "hf-disk", (".arrow",), rename=False),
    "cifar as tar": Case("reenc/cifar10_wds", "webdataset", (".tar",)),
    "cifar as parquet": Case("reenc/cifar10_parquet", "parquet", (".parquet",)),
    "digits as pt": Case("arrays/digits/pt", "pt", (".pt",)),
    "digits as safetensors": Case("arrays/digits/safetensors", "safetensors", (".safetensors",)),
    "digits as csv": Case("arrays/digits/csv", "csv", (".csv",)),
    "digits as jsonl": Case("arrays/digits/jsonl", "jsonl", (".jsonl",)),
    "penguins": Case("tabular/penguins/penguins.csv", "csv", (".csv",)),
    "titanic": Case("tabular/titanic/titanic.parquet", "parquet", (".parquet",)),
    "taxis": Case("tabular/taxis/parquet", "parquet", (".parquet",)),
    "diamonds": Case("tabular/diamonds", "parquet", (".parquet",)),
    "messages": Case("text/sms_spam/sms.tsv", "tsv", (".tsv",)),
    "sums": Case("text/gsm8k_test", "jsonl", (".jsonl",)),
    "spoken digits": Case("audio/fsdd", "audio-folder", (".wav",)),
    "vowels": Case("sequences/japanese_vowels/npy", "npy", (".npy",)),
}
CASES = {**MADE, **REAL}


def place(case: Case, made: Path) -> Path:
    if case in MADE.values():
        return Path(TINY[case.where](made).source)
    assert FOLDER is not None
    path = FOLDER / case.where
    return path if path.exists() else next(path.parent.glob(f"*{path.suffix}"))


@pytest.mark.parametrize("name", [*MADE, *real(REAL)])
def test_every_statistic_is_what_numpy_says(asker: Asker, tmp_path: Path, name: str) -> None:
    """Our promise: population std, numpy's linear quantiles, m3/m2^1.5, excess kurtosis; over finite values."""
    case = CASES[name]
    path = place(case, tmp_path)
    root = tmp_path if FOLDER is None or case in MADE.values() else FOLDER
    judge(asker, case, path, root, said(case, files_of(case, path)))


def renaming(cases: dict[str, Case]) -> list[str]:
    return [name for name, case in cases.items() if case.rename]


@pytest.mark.parametrize("name", [*renaming(MADE), *real(renaming(REAL))])
def test_names_do_not_bear_on_statistics(asker: Asker, tmp_path: Path, name: str) -> None:
    """Our promise: what is measured is in the bytes; a file's format too, where it has magic bytes."""
    case = CASES[name]
    (tmp_path / "made").mkdir()
    (tmp_path / "moved").mkdir()
    path = place(case, tmp_path / "made")
    new = renamed(path, tmp_path / "moved", 20, case.suffixes)
    expected = {
        (new.get(key[0], key[0]), key[1]) if isinstance(key, tuple) else new.get(key, key): values
        for key, values in said(case, files_of(case, path)).items()
    }
    judge(asker, case, tmp_path / "moved", tmp_path, expected)


def test_gray_pictures_among_coloured_ones_count_as_rgb(asker: Asker, tmp_path: Path) -> None:
    """Our promise: where pictures differ in mode, channels are those after conversion to RGB."""
    (tmp_path / "mixed").mkdir()
    for i, pixels in enumerate(pictures("train")):
        mode = ("RGB", "L", "RGBA", "CMYK", "P")[i % 5]
        suffix = "tif" if mode == "CMYK" else "png"
        Image.fromarray(pixels).convert(mode).save(tmp_path / "mixed" / f"{i}.{suffix}")
    case = Case("mixed", "image-folder", (".png", ".tif"))
    judge(asker, case, tmp_path / "mixed", tmp_path, said(case, sorted((tmp_path / "mixed").iterdir())))


def test_hard_numbers_keep_their_digits(asker: Asker, tmp_path: Path) -> None:
    """Our promise: large offsets, heavy tails, holes of every kind and constants cost no digit."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(41)
    n = 5000
    holed = rng.normal(0, 1, n)
    holed[[3, 77]], holed[500], holed[4999] = np.nan, np.inf, -np.inf
    columns = {
        "offset": 1.7e9 + rng.normal(0, 0.25, n),
        "tail": rng.pareto(2.5, n),
        "holed": holed,
        "small": rng.normal(0, 1e-12, n).astype(np.float32),
        "constant": np.full(n, 0.1),
        "count": rng.poisson(3, n),
        "yes": rng.integers(0, 2, n).astype(bool),
        "absent": pa.array([None if i % 9 == 4 else float(x) for i, x in enumerate(rng.normal(9, 2, n))]),
        "text": ["word " * int(k) for k in rng.integers(0, 30, n)],
    }
    path = tmp_path / "numbers.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=611)
    case = Case("numbers", "parquet", (".parquet",))
    judge(asker, case, path, tmp_path, said(case, [path]))


def files_of(case: Case, path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.suffix in case.suffixes)


SAID: dict[Case, dict[oracle.Key, dict[str, float | None]]] = {}
"""What numpy says of a set: once, for it is the same under every name."""


def said(case: Case, files: list[Path]) -> dict[oracle.Key, dict[str, float | None]]:
    if case not in SAID:
        values = oracle.read(case.reader or case.format, files)
        SAID[case] = {key: oracle.statistics(v) for key, v in values.items()}
    return SAID[case]


def judge(
    asker: Asker, case: Case, source: Path, root: Path, expected: dict[oracle.Key, dict[str, float | None]]
) -> None:
    result = asker.ask("characterize_dataset", str(source), str(root))
    assert isinstance(result, Result)
    assert result.format == case.format
    assert result.coverage.complete
    got = flat(result)
    assert expected.keys() <= got.keys()
    left = {k[0] if isinstance(k, tuple) else k for k in got.keys() - expected.keys()}
    assert left <= {"label"}, "statistics of fields that the files do not hold"
    for key, want in expected.items():
        assert numbers(got[key]) == pytest.approx(numbers(want), rel=1e-6, abs=1e-15, nan_ok=True), key


def numbers(statistics: dict[str, Any]) -> dict[str, float]:
    """What is not defined, as the skewness of a constant, is NaN."""
    return {name: math.nan if value is None else value for name, value in statistics.items()}


def flat(result: Result) -> dict[oracle.Key, dict[str, Any]]:
    """Statistics by field, or by field and channel, as plain numbers."""
    out: dict[oracle.Key, dict[str, Any]] = {}
    for name, made in result.statistics.items():
        for channel, s in made.items() if isinstance(made, dict) else [(None, made)]:
            plain = s.model_dump(exclude={"measure", "quantiles", "distribution", "outliers", "treatment"})
            out[name if channel is None else (name, channel)] = {**plain, **(s.quantiles or {})}
    return out
