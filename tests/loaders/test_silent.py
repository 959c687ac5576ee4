"""What loaders changed without a word: each is one format or argument that gave other samples than are stored."""

from __future__ import annotations

import io
import tarfile
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image
from torch.utils.data import TensorDataset

from dataloader_expert.errors import RequestError
from dataloader_expert.loaders import (
    CachedDataset,
    CollatorRegistry,
    DataLoaderConfig,
    DataLoaderFactory,
    StreamingDataset,
    TaskSpec,
    UniversalDataModule,
    VisionDataCollator,
    create_loader,
    load_reference,
    open_dataset,
)
from dataloader_expert.loaders.layouts.hub_rows import HubRows
from dataloader_expert.samplers import LengthBucketBatchSampler, ShuffleSampler
from dataloader_expert.sources.fetching import StreamError

NUMBERS = TensorDataset(torch.arange(20))


def sounds(folder: Path, width: int, frames: list[int]) -> Path:
    for i, n in enumerate(frames):
        with wave.open(str(folder / f"{i}.wav"), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(width)
            file.setframerate(8000)
            file.writeframes((1 << (8 * width - 2)).to_bytes(width, "little") * n)  # half of full scale
    return folder


@pytest.mark.parametrize("width", [2, 3, 4])
@pytest.mark.parametrize("frames", [[100, 100], [100, 60]], ids=["equal", "unequal"])
def test_recordings_of_a_folder_keep_their_length_and_loudness(tmp_path: Path, width: int, frames: list[int]) -> None:
    """[T, channels] as they are opened: T frames each, at half of full scale in 16, 24 and 32 bits."""
    collate = CollatorRegistry.get_instance().get_collator(collator_name="audio")
    batch = next(iter(create_loader(sounds(tmp_path, width, frames), None, 2, 0, collate_fn=collate)))
    assert batch["lengths"].tolist() == frames and batch["audio"].shape == (2, 1, 100)
    assert batch["audio"][0, 0].unique().tolist() == pytest.approx([0.5], abs=1e-3)


@pytest.mark.parametrize("kind", ["npz", "parquet"])
def test_the_largest_unsigned_integers_stay_what_they_are(tmp_path: Path, kind: str) -> None:
    """Hashes of 64 bits do not become negative; labels stay int64, which losses take."""
    held: dict[str, Any] = {"hash": np.array([2**64 - 1, 2**63, 1], np.uint64), "label": np.array([0, 1, 1], np.uint64)}
    path = tmp_path / f"a.{kind}"
    np.savez(path, **held) if kind == "npz" else pq.write_table(pa.table(held), path)
    batch = next(iter(create_loader(path, None, 3, 0)))
    assert batch["hash"].tolist() == [2**64 - 1, 2**63, 1]
    assert batch["label"].dtype == torch.int64


def test_classes_that_are_found_are_the_same_in_every_split(tmp_path: Path) -> None:
    """One index a class, whatever split is opened; a label that is none of the classes is refused."""
    path = tmp_path / "a.csv"
    path.write_text("id,label,split\n0,a,train\n1,b,train\n2,b,test\n3,c,test\n")
    parts = [open_dataset(path, split=split, label="label", classes="found") for split in ("train", "test")]
    assert [[int(sample["label"]) for sample in (part[0], part[1])] for part in parts] == [[0, 1], [1, 2]]
    with pytest.raises(RuntimeError, match="'c', which is none of the 2 classes"):
        open_dataset(path, split="test", label="label", classes=["a", "b"])[1]
    wrong: Any = "all"
    with pytest.raises(ValueError, match="a list of names, or 'found'"):
        open_dataset(path, classes=wrong)


def test_members_that_share_a_name_before_the_last_point_are_two_fields(tmp_path: Path) -> None:
    """left.png and left.npy, as the webdataset library names them; of one alone the name stays short."""
    image, array = io.BytesIO(), io.BytesIO()
    Image.new("RGB", (4, 4)).save(image, "PNG")
    np.save(array, np.arange(3))
    members = {"0.left.png": image, "0.left.npy": array, "0.right.npy": array, "0.cls": io.BytesIO(b"3")}
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data.getvalue())
            tar.addfile(entry, io.BytesIO(data.getvalue()))
    assert set(open_dataset(tmp_path / "a.tar")[0]) == {"left.png", "left.npy", "right", "cls"}


def test_a_file_that_lacks_a_column_has_missing_values(tmp_path: Path) -> None:
    """As a line of JSON that lacks a key: every batch has the same fields."""
    pq.write_table(pa.table({"x": [0, 1, 2], "z": [5, 6, 7], "t": ["a", "b", "c"]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"x": [3, 4, 5]}), tmp_path / "1.parquet")
    batches = list(create_loader(tmp_path, None, 2, 0, shuffle=True))
    rows = {int(x): (float(z), t) for b in batches for x, z, t in zip(b["x"], b["z"], b["t"], strict=True)}
    assert {x: t for x, (_, t) in rows.items()} == {0: "a", 1: "b", 2: "c", 3: "", 4: "", 5: ""}
    assert [rows[x][0] for x in (0, 1, 2)] == [5, 6, 7] and all(np.isnan(rows[x][0]) for x in (3, 4, 5))


def test_images_of_bytes_beside_images_of_floats_are_scaled_too() -> None:
    """200 of 255 stays 0.784 in whatever batch it is."""
    collate = VisionDataCollator(mean=(0.0,), std=(1.0,))
    bytes_, floats = torch.full((1, 2, 2), 200, dtype=torch.uint8), torch.full((1, 2, 2), 0.5)
    batch = collate([{"image": bytes_}, {"image": floats}])
    assert batch["pixel_values"][:, 0, 0, 0].tolist() == pytest.approx([200 / 255, 0.5])


def test_rows_of_a_stream_that_do_not_fit_their_header_are_refused(tmp_path: Path) -> None:
    """As open_dataset does; a byte-order mark is no part of the first name."""
    (tmp_path / "short.csv").write_text("a,b\n1\n")
    (tmp_path / "long.csv").write_text("a,b\n1,2,3\n")
    (tmp_path / "mark.csv").write_text("\ufeffa,b\n1,2\n")
    for name in ("short", "long"):
        with pytest.raises(StreamError, match=r"line 2 has [13] fields, the header 2"):
            list(StreamingDataset([str(tmp_path / f"{name}.csv")]))
    assert list(StreamingDataset([str(tmp_path / "mark.csv")])) == [{"a": "1", "b": "2"}]


class Column:
    dtype = "string"


class Pairs:
    """Rows as of a ``datasets.Dataset``."""

    column_names = ("premise", "hypothesis")
    features = dict.fromkeys(column_names, Column())
    format: Any = None

    def __len__(self) -> int:
        return 2

    def __getitem__(self, rows: list[int]) -> dict[str, list[str]]:
        return {name: [f"{name} {row}" for row in rows] for name in self.column_names}

    def select(self, rows: Any) -> Pairs:
        return self


def test_two_texts_are_tokenised_as_a_pair() -> None:
    """A model of inference sees the hypothesis too."""

    def tokenizer(one: list[str], two: list[str]) -> dict[str, list[list[int]]]:
        return {"input_ids": [[len(a), len(b)] for a, b in zip(one, two, strict=True)]}

    (row,) = HubRows(Pairs(), tokenizer).__getitems__([1])
    assert row == {"input_ids": [len("premise 1"), len("hypothesis 1")]}


def test_an_epoch_out_of_order_has_no_position() -> None:
    """A state of it would lose batches and repeat others."""
    loader = DataLoaderFactory().create_dataloader(NUMBERS, DataLoaderConfig(num_workers=2, in_order=False))
    with pytest.raises(ValueError, match="no position to resume at"):
        loader.state_dict()


REFUSED: dict[str, tuple[Any, str]] = {
    "a rank that nobody gave": (lambda: ShuffleSampler(6, num_replicas=2), "pass rank= too"),
    "a flag that is a text": (lambda: DataLoaderConfig(drop_last="no").check(), "drop_last is 'no'"),  # type: ignore[arg-type]  # what is refused
    "batches as indices": (lambda: DataLoaderConfig(sampler=LengthBucketBatchSampler([1] * 9, 3)).check(), "batch_sampler="),
    "indices as batches": (lambda: DataLoaderConfig(batch_sampler=ShuffleSampler(9)).check(), "sampler="),  # type: ignore[arg-type]  # what is refused
    "an argument that is none": (lambda: UniversalDataModule(NUMBERS, batchsize=3), "did you mean 'batch_size'"),
    "a field that is none": (lambda: UniversalDataModule([{"a": 1}, {"a": 2}], groups="b"), "the first has a"),
    "a state of something else": (lambda: UniversalDataModule(NUMBERS).load_state_dict({}), "not a data module state"),
    "a label that is none": (
        lambda: CollatorRegistry.get_instance().get_collator(collator_name="tabular", label="prize")([{"x": 1, "price": 2}]),
        "label is 'prize', and samples have x, price",
    ),
    "a sample that is none": (lambda: CachedDataset(NUMBERS)[20], "index 20 is out of range: the dataset has 20 samples"),
    "a task without its parts": (lambda: TaskSpec.from_dict({"name": "a", "task_type": "b"}), "model_family, loss_type missing"),
    "a reference without a name": (lambda: load_reference("models.py"), "file.py:name"),
    "tuples": (lambda: CollatorRegistry.get_instance().get_collator(collator_name="tabular")([(1, 2)]), "samples that are mappings"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_arguments_that_are_none_are_refused_with_what_they_should_be(case: str) -> None:
    """Our promise: what was given, what the rule is, what to do."""
    call, says = REFUSED[case]
    with pytest.raises((ValueError, TypeError, LookupError, RequestError), match=says):
        call()
