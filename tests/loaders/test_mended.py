"""What features did to each other in silence: each is one combination that lost, repeated or changed samples."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from dataloader_expert.loaders import (
    CollatorRegistry,
    EpochLoader,
    LanguageModelingDataCollator,
    StreamingDataset,
    TaskSpec,
    UniversalDataModule,
    create_loader,
    open_dataset,
)
from dataloader_expert.samplers import ShuffleSampler
from tests.loaders.material import Stream, flat, made


def photos(folder: Path, greys: int, colours: int, name: str = "train") -> Path:
    """Grey pictures before the coloured ones, in one class."""
    inside = folder / name / "a"
    inside.mkdir(parents=True)
    for at in range(greys + colours):
        colour: Any = 10 + at if at < greys else (10 + at, 200, 30)
        Image.new("L" if at < greys else "RGB", (8, 8), colour).save(inside / f"{at:03}.png")
    return folder


# ── resuming ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("workers", [0, 2])
def test_a_stream_resumed_twice_counts_each_batch_once(workers: int) -> None:
    """State after 3 batches, then one more: 4, and what follows follows."""
    whole = [b.tolist() for b in made(Stream(40), batch_size=4, shuffle=False, num_workers=workers)]
    state, found = None, []
    for count in (3, 1, 2, 99):
        loader = made(Stream(40), batch_size=4, shuffle=False, num_workers=workers)
        if state is not None:
            loader.load_state_dict(state)
            assert loader.state_dict() == state
        batches = iter(loader)
        found += [batch.tolist() for _, batch in zip(range(count), batches, strict=False)]
        state = json.loads(json.dumps(loader.state_dict()))
        assert state["batches"] == len(found)
    assert found == whole


def test_a_data_module_of_a_stream_resumes_twice(tmp_path: Path) -> None:
    """By its own state."""
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"i": i}) + "\n" for i in range(40)))

    def module() -> UniversalDataModule:
        return UniversalDataModule(StreamingDataset([str(path)], 8), batch_size=4, val_split=0, num_workers=0)

    whole = flat(module().train_dataloader())
    state, found = None, []
    for count in (3, 1, 99):
        ours = module()
        if state is not None:
            ours.load_state_dict(state)
        batches = iter(ours.train_dataloader())
        for _ in range(count):
            batch = next(batches, None)
            found += flat([batch]) if batch is not None else []
        state = json.loads(json.dumps(ours.state_dict()))
    assert found == whole


def test_a_state_at_an_epochs_end_is_none_of_the_epoch_that_its_sampler_went_to() -> None:
    """``loader.sampler.set_epoch(1)``, as of torch's DistributedSampler: nothing of epoch 1 was delivered."""

    def loader() -> EpochLoader:
        return EpochLoader(range(20), batch_size=4, sampler=ShuffleSampler(20, 3))

    first = loader()
    list(first)
    ours: Any = first.sampler
    ours.set_epoch(1)
    resumed = loader()
    resumed.load_state_dict(json.loads(json.dumps(first.state_dict())))
    due = [b.tolist() for b in first]
    assert [b.tolist() for b in resumed] == due and len(due) == 5
    again = loader()
    again.load_state_dict(first.state_dict())
    moved: Any = again.sampler
    moved.set_epoch(2)
    assert again.state_dict()["batches"] == 0
    next(iter(again))
    assert again.state_dict()["batches"] == 1


# ── samples that cannot be read ────────────────────────────────────────────────


@pytest.mark.parametrize("workers", [0, 2])
def test_unreadable_samples_raise_or_are_left_out_and_counted(
    tmp_path: Path, workers: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Never replaced by a neighbour under another label."""
    source = photos(tmp_path, 0, 12)
    (source / "train/a/004.png").write_bytes(b"no picture")
    loader = create_loader(source, "train", 4, workers)
    with pytest.raises(RuntimeError, match=r"sample 4 cannot be read: .*004\.png.*unreadable='skip'"):
        list(loader)
    skipping = create_loader(source, "train", 4, workers, unreadable="skip")
    for _ in range(2):
        greens = [int(v) for batch in skipping for v in batch["image"][:, 0, 0, 0]]
        assert sorted(greens) == [10 + i for i in range(12) if i != 4]
    assert skipping.dataset_obj.skipped == 2
    if not workers:
        assert caplog.text.count("sample 4 is left out") == 1
    with pytest.raises(RuntimeError, match="none of the 1 samples of a batch can be read"):
        list(create_loader(source, "train", 1, unreadable="skip", num_workers=0))
    with pytest.raises(ValueError, match="unreadable is 'no'"):
        open_dataset(source, unreadable="no")  # type: ignore[arg-type]  # refused


# ── grey and colour ────────────────────────────────────────────────────────────


def test_colour_is_never_lost_because_the_first_is_grey(tmp_path: Path) -> None:
    """All splits have as many channels; a grey picture among coloured ones gets three."""
    source = photos(tmp_path, 3, 9)
    photos(tmp_path, 12, 0, "val")
    for split in ("train", "val"):
        batch = next(iter(create_loader(source, split, 12, 0)))
        assert batch["image"].shape[1] == 3
    greys = photos(tmp_path / "greys", 40, 0)
    Image.new("RGB", (8, 8), (250, 0, 0)).save(greys / "train/a/0001.png")
    dataset = open_dataset(greys, split="train")
    assert dataset[0]["image"].shape[0] == 1
    with pytest.raises(ValueError, match="in colour, others are grey: pass channels=3"):
        for i in range(len(dataset)):
            dataset[i]
    assert open_dataset(greys, split="train", channels=3)[0]["image"].shape[0] == 3


def test_parts_of_a_hub_data_set_have_as_many_channels() -> None:
    """Training begins with a grey picture, validation has none."""
    datasets = pytest.importorskip("datasets")

    def images(*modes: str) -> Any:
        pictures = [Image.new(mode, (8, 8), 9 if mode == "L" else (9, 99, 9)) for mode in modes]
        return datasets.Dataset.from_dict(
            {"img": pictures, "label": [0] * len(modes)},
            features=datasets.Features({"img": datasets.Image(), "label": datasets.Value("int64")}),
        )

    module = UniversalDataModule(
        images("L", "L", "RGB"), images("L", "L"), TaskSpec.vision_tiny(), batch_size=2, num_workers=0
    )
    shapes = {
        b["pixel_values"].shape[1] for part in (module.train_dataloader(), module.val_dataloader()) for b in part or ()
    }
    assert shapes == {3}
    grey = UniversalDataModule(images("L"), images("L"), TaskSpec.vision_tiny(), batch_size=2, num_workers=0)
    assert next(iter(grey.train_dataloader()))["pixel_values"].shape[1] == 1


# ── memory ─────────────────────────────────────────────────────────────────────


def test_kept_blocks_are_counted_by_what_they_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compressed on disk to a hundredth: memory counts, not the file."""
    paths = []
    for at in range(8):
        path = tmp_path / f"{at}.npz"
        np.savez_compressed(path, x=np.zeros((64, 128, 128), np.float32), y=np.zeros(64, np.int64))
        paths.append(path)
    monkeypatch.setattr("dataloader_expert.sources.kept_blocks.CACHE_BYTES", 9 << 20)
    dataset = open_dataset(tmp_path)
    for i in range(0, len(dataset), max(1, len(dataset) // 64)):
        dataset[i]
    assert sum(dataset.blocks.get(unit) is not None for unit in range(8)) == 2  # of 4 MiB each


# ── collators ──────────────────────────────────────────────────────────────────


class Tokens:
    """As much of a tokenizer as masking needs."""

    pad_token_id, mask_token_id, all_special_ids, vocab_size = 0, 1, [0, 1], 100


class Rows(torch.utils.data.Dataset[Any]):
    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"input_ids": list(range(2 + index, 42 + index))}


@pytest.mark.parametrize("workers", [0, 2])
def test_a_batch_of_one_is_masked_anew_each_epoch(workers: int) -> None:
    """And alike in a resumed one; also where nobody says the epoch."""

    def loader() -> EpochLoader:
        collate = LanguageModelingDataCollator(Tokens(), mlm=True, seed=3)
        return made(Rows(), batch_size=1, shuffle=False, collator=collate, num_workers=workers)

    going = loader()
    epochs = [[b["labels"].tolist() for b in going] for _ in range(3)]
    assert all(epochs[0][i] != epochs[1][i] != epochs[2][i] for i in range(6))
    other = loader()
    other.set_epoch(1)
    assert [b["labels"].tolist() for b in other] == epochs[1]
    collate = LanguageModelingDataCollator(Tokens(), mlm=True, seed=3)
    plain: Any = torch.utils.data.DataLoader(Rows(), 1, num_workers=workers, collate_fn=collate)
    twice = [[b["labels"].tolist() for b in plain] for _ in range(2)]
    assert twice[0] != twice[1]


def test_tokens_of_a_decoder_are_padded() -> None:
    """With the padding's id, their mask with zeros, as long as the longest of theirs."""
    batch = LanguageModelingDataCollator(Tokens())(
        [
            {"input_ids": [5, 6, 7], "labels": [9, 9], "decoder_input_ids": [3, 9], "decoder_attention_mask": [1, 1]},
            {"input_ids": [5], "labels": [9], "decoder_input_ids": [3], "decoder_attention_mask": [1]},
        ]
    )
    assert batch["decoder_input_ids"].tolist() == [[3, 9], [3, 0]]
    assert batch["decoder_attention_mask"].tolist() == [[1, 1], [1, 0]]
    assert batch["labels"].tolist() == [[9, 9], [9, -100]]


def test_fields_called_as_what_a_collator_adds_stay() -> None:
    """Its own lengths and mask then bear the name of the sequence."""
    registry = CollatorRegistry.get_instance()
    batch = registry.get_collator(collator_name="sequence")(
        [
            {"x": torch.ones(3, 2), "mask": torch.tensor([1, 0, 1]), "lengths": 7},
            {"x": torch.ones(2, 2), "mask": torch.tensor([0, 1, 1]), "lengths": 8},
        ]
    )
    assert batch["mask"].tolist() == [[1, 0, 1], [0, 1, 1]] and batch["lengths"].tolist() == [7, 8]
    assert batch["x_lengths"].tolist() == [3, 2] and batch["x_mask"].tolist() == [[True] * 3, [True, True, False]]
    sound = registry.get_collator(collator_name="audio")([{"waveform": torch.ones(4), "lengths": 1}])
    assert sound["lengths"].tolist() == [1] and sound["waveform_lengths"].tolist() == [4]


# ── splits ─────────────────────────────────────────────────────────────────────


def test_a_split_keeps_classes_or_groups() -> None:
    """By a value a sample, or a field's name: each class its share, or no group in both parts."""
    rows = [{"x": float(i), "label": int(i % 10 == 0), "patient": i // 4} for i in range(100)]
    for stratify in ("label", [row["label"] for row in rows]):
        module = UniversalDataModule(rows, val_split=0.2, stratify=stratify, num_workers=0)
        assert sum(row["label"] for row in module.val_data) == 2 and len(module.val_data) == 20
    grouped = UniversalDataModule(rows, val_split=0.2, groups="patient", num_workers=0)
    parts = [{row["patient"] for row in part} for part in (grouped.train_data, grouped.val_data)]
    assert not parts[0] & parts[1] and len(grouped.val_data) == 20
    with pytest.raises(ValueError, match="exclude each other"):
        UniversalDataModule(rows, stratify="label", groups="patient")
    with pytest.raises(ValueError, match="3 values for 100 samples"):
        UniversalDataModule(rows, stratify=[1, 2, 3])
    with pytest.raises(ValueError, match="is a stream"):
        UniversalDataModule(Stream(9), groups="patient")


@pytest.mark.journey
def test_all_names_can_be_imported_without_the_extras() -> None:
    """``from … import *`` where torchdata is not installed."""
    program = (
        "import sys, importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda name, package=None: None if name == 'torchdata' else find(name, package)\n"
        "sys.modules['torchdata'] = None\n"
        "from dataloader_expert.loaders import *\n"
        "print(create_loader.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100)
    assert done.stdout.strip() == "create_loader", done.stderr[-500:]


# ── found by a reader ──────────────────────────────────────────────────────────


def noisy(sample: dict[str, Any]) -> Any:
    """A transform that draws."""
    return torch.rand((), dtype=torch.float64), sample["image"][0, 0, 0]


def test_a_random_transform_leaves_out_what_cannot_be_read(tmp_path: Path) -> None:
    """Though its samples are read one by one."""
    source = photos(tmp_path, 12, 0)
    (source / "train/a/004.png").write_bytes(b"no picture")
    loader = create_loader(
        source, "train", 4, 0, transform=noisy, unreadable="skip", collate_fn=torch.utils.data.default_collate
    )
    seen = [int(value) for _, values in loader for value in values]
    assert sorted(seen) == [10 + i for i in range(12) if i != 4]


class Noise(torch.utils.data.Dataset[Any]):
    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> Any:
        return torch.rand((), dtype=torch.float64)


@pytest.mark.parametrize(
    "batches",
    [
        [[0, 0], [0, 1]],
        [np.array([0, 0]), np.array([0, 1])],
        [torch.tensor([0, 0]), torch.tensor([0, 1])],
        [(0, 0), (0, 1)],
    ],
    ids=["lists", "arrays", "tensors", "tuples"],
)
def test_batches_of_ones_own_are_drawn_anew(batches: Any) -> None:
    """Whatever they are made of: four draws, four augmentations; and the same for two workers."""
    values = [[float(v) for b in made(Noise(), batch_sampler=batches, num_workers=w) for v in b] for w in (0, 2)]
    assert len(set(values[0])) == 4 and values[0] == values[1]


def test_streams_keep_an_epoch_that_is_set_on_them(tmp_path: Path) -> None:
    """As Hugging Face's users do; and one that was looked into before goes on with the next."""
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"i": i}) + "\n" for i in range(40)))
    stream = StreamingDataset([str(path)], 30)
    loader = made(stream, batch_size=40, shuffle=False)
    orders = []
    for epoch in (5, 6, 5):
        stream.set_epoch(epoch)
        orders.append(flat(loader))
        assert loader.epoch == epoch
    assert orders[0] == orders[2] != orders[1]


def test_validation_moves_no_mask_of_training() -> None:
    """Each loader has a copy of the collator, with an epoch of its own."""
    collate = LanguageModelingDataCollator(Tokens(), mlm=True, seed=3)
    train, other = (made(Rows(), batch_size=2, shuffle=False, collator=collate) for _ in range(2))
    due = [b["labels"].tolist() for b in train]
    train.set_epoch(0)
    going = iter(train)
    found = [next(going)["labels"].tolist()]
    other.set_epoch(7)
    list(other)
    assert found + [b["labels"].tolist() for b in going] == due
