"""One data set of any kind, split, in epochs, resumable in their midst, augmented alike whoever reads."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import Subset, TensorDataset, random_split

from dataloader_expert.loaders import (
    DataModuleProtocol,
    StreamingDataset,
    UniversalDataModule,
    create_seeded_generator,
    get_default_task_specs,
)
from dataloader_expert.loaders.layouts.hub_rows import HubRows, HubStream, is_hub, is_hub_stream, label_column, pixels
from dataloader_expert.loaders.modules.splitting import Part, StreamPart, split
from tests.loaders.looking import in_children
from tests.loaders.material import (
    Noisy,
    Numbers,
    OwnShards,
    Stream,
    a_task,
    flat,
    library_tokenizer,
    three_workers,
)
from tests.making.jasper import process_group


def module(data: Any, val_data: Any = None, **more: Any) -> UniversalDataModule:
    """Without workers and validation, where they are not asked for."""
    return UniversalDataModule(data, val_data, **{"num_workers": 0, "val_split": 0.0, **more})


def validation(of: UniversalDataModule) -> Any:
    loader = of.val_dataloader()
    assert loader is not None
    return loader


def tensors(n: int) -> list[torch.Tensor]:
    return [torch.tensor([i]) for i in range(n)]


def numbers_of(part: Any) -> list[int]:
    """Of one side of a split."""
    samples = [part[i] for i in range(len(part))]
    return [int(s[0] if isinstance(s, list | tuple) else s["i"] if isinstance(s, dict) else s) for s in samples]


DATA: dict[str, Any] = {
    "own": lambda n: Numbers(n),
    "tensors": lambda n: TensorDataset(torch.arange(n)),
    "list of tensors": tensors,
    "list of samples": lambda n: [{"i": i} for i in range(n)],
    "hub": lambda n: datasets.Dataset.from_dict({"i": list(range(n))}),
    "part": lambda n: Subset(Numbers(2 * n), range(n)),
}
every_kind = pytest.mark.parametrize("kind", DATA)


# ── splits ─────────────────────────────────────────────────────────────────────


@every_kind
@pytest.mark.parametrize(
    ("count", "share", "due"),
    [(100, 0.2, (80, 20)), (100, 0.8, (20, 80)), (10, 0.9, (1, 9)), (10, 0.99, (1, 9)), (10, 0.01, (9, 1))],
)
def test_every_kind_is_split(kind: str, count: int, share: float, due: tuple[int, int]) -> None:
    """Into two that have all between them, of the sizes that were asked, never none for training."""
    parts = [module(DATA[kind](count), val_split=share, seed=seed) for seed in (1, 1, 2)]
    for one in parts:
        assert (len(one.train_data), len(one.val_data)) == due
        assert sorted(flat(one.train_dataloader()) + flat(validation(one))) == list(range(count))
    first, same, other = (numbers_of(p.val_data) for p in parts)
    assert first == same == flat(validation(parts[0])) and (first != other or len(first) == 1)


def test_splits_are_torchs_and_the_hubs() -> None:
    """``random_split`` with a generator of the seed, and ``train_test_split``; a list's may be its tail."""
    train, val = random_split(Numbers(50), [40, 10], generator=create_seeded_generator(5))
    ours = module(Numbers(50), val_split=0.2, seed=5)
    assert (numbers_of(ours.train_data), numbers_of(ours.val_data)) == (numbers_of(train), numbers_of(val))
    hub = DATA["hub"](50)
    due = hub.train_test_split(test_size=10, seed=5)
    ours = module(hub, val_split=0.2, seed=5)
    assert (ours.train_data["i"][:], ours.val_data["i"][:]) == (due["train"]["i"][:], due["test"]["i"][:])
    tail = module(tensors(10), val_split=0.2, list_split="tail")
    assert numbers_of(tail.val_data) == [8, 9]
    assert numbers_of(module(Numbers(10), val_split=0.2, list_split="tail").val_data) != [8, 9]


def test_one_sample_is_for_training(caplog: pytest.LogCaptureFixture) -> None:
    """That it was not split is said; nothing at all is nothing, and validation may be empty."""
    with caplog.at_level(logging.WARNING):
        one = module(Numbers(1), val_split=0.2)
    assert "1 samples cannot be split: all are for training" in caplog.text
    assert flat(one.train_dataloader()) == [0] and one.val_dataloader() is None
    assert list(module([], val_split=0.2).train_dataloader()) == []
    assert list(validation(module(tensors(2), []))) == []


@pytest.mark.parametrize("share", [1.5, 1.0, -0.1, float("nan")])
def test_a_share_that_cannot_be_is_refused(share: float) -> None:
    """Unless validation data are given, and it is not used."""
    with pytest.raises(ValueError, match=r"val_split is .*; it must be a share in \[0, 1\)"):
        module(Numbers(10), val_split=share)
    assert flat(validation(module(Numbers(10), Numbers(3), val_split=share))) == [0, 1, 2]


def test_a_part_is_read_by_the_batch() -> None:
    """Where the whole can be; else sample by sample."""
    chosen: Any = np.array([5, 1, 7])
    part = Part(Numbers(9), chosen)
    assert (len(part), part[1], part.__getitems__([2, 0])) == (3, 1, [7, 5])
    train, val = split(TensorDataset(torch.arange(20)), 0.25, 0)
    assert [len(p.__getitems__([0, 3]).batch[0]) for p in (train, val)] == [2, 2]


# ── epochs ─────────────────────────────────────────────────────────────────────


@every_kind
def test_an_epoch_is_a_plain_loaders_pass(kind: str) -> None:
    """Of a generator with the seed; each new loader goes on, and so does one that is used again."""
    plain = torch.utils.data.DataLoader(Numbers(20), 8, shuffle=True, generator=create_seeded_generator(7))
    due = [flat(plain) for _ in range(4)]
    by_new = module(DATA[kind](20), batch_size=8, seed=7)
    assert [flat(by_new.train_dataloader()) for _ in range(4)] == due
    again = module(DATA[kind](20), batch_size=8, seed=7)
    loader = again.train_dataloader()
    assert [flat(loader), flat(loader)] == due[:2]
    assert flat(again.train_dataloader()) == due[2] and again.epoch == 2


def test_a_look_at_a_batch_is_no_epoch() -> None:
    """The next loader begins with the same one; the original's way begins with it for ever."""
    ours = module(Numbers(20), batch_size=8)
    first = [next(iter(ours.train_dataloader())).tolist() for _ in range(3)]
    assert first[0] == first[1] == first[2]
    for_ever = module(Numbers(20), batch_size=8, new_order=False)
    assert flat(for_ever.train_dataloader()) == flat(for_ever.train_dataloader())
    for_ever.set_epoch(1)
    ours.set_epoch(1)
    assert flat(for_ever.train_dataloader()) == flat(ours.train_dataloader())


def test_an_epoch_may_be_named() -> None:
    """Of the next loader, and of one in use; validation has its own order in each."""
    ours = module(Numbers(20), Numbers(5), batch_size=8)
    due = [flat(ours.train_dataloader()) for _ in range(4)]
    ours.set_epoch(2)
    loader = ours.train_dataloader()
    assert flat(loader) == due[2]
    ours.set_epoch(0)
    assert flat(loader) == due[0]
    ours.set_epoch(3)
    assert flat(ours.train_dataloader()) == due[3]
    assert flat(validation(ours)) == flat(validation(ours)) == list(range(5))


def test_settings_reach_the_loaders() -> None:
    """Orders of one's own are for training alone; what is no setting is an error."""
    own = module(Numbers(10), Numbers(4), batch_size=4, sampler=[3, 1], drop_last=False)
    assert flat(own.train_dataloader()) == [3, 1] and flat(validation(own)) == [0, 1, 2, 3]
    assert len(module(Numbers(10), batch_size=4, drop_last=True).train_dataloader()) == 2
    assert module(Numbers(10), shuffle=False).train_dataloader().sampler.__class__.__name__ == "OrderedSampler"
    with pytest.raises(TypeError, match="colour"):
        module(Numbers(3), colour="red")
    with pytest.raises(ValueError, match="batch_size is 0"):
        module(Numbers(3), batch_size=0)
    with pytest.raises(ValueError, match="list_split is 'head'; it must be one of 'seeded', 'tail'"):
        module(Numbers(3), list_split="head")


def test_modules_are_known_by_what_they_give() -> None:
    """At run time too, whoever made them."""

    class Own:
        def train_dataloader(self) -> None:
            """None is enough for a look."""

        def val_dataloader(self) -> None:
            """None is enough for a look."""

    assert isinstance(module(Numbers(3)), DataModuleProtocol)
    assert isinstance(Own(), DataModuleProtocol)
    assert not isinstance(object(), DataModuleProtocol)


# ── resuming ───────────────────────────────────────────────────────────────────


@pytest.mark.journey
@pytest.mark.parametrize("workers", [0, 2])
def test_it_resumes_behind_every_batch(workers: int) -> None:
    """In a new module, from a state that JSON and a checkpoint keep; then come the epochs that would have come."""

    def fresh() -> UniversalDataModule:
        return module(Numbers(22), batch_size=4, num_workers=workers, seed=3)

    alone = module(Numbers(22), batch_size=4, seed=3)
    due = [flat(alone.train_dataloader()) for _ in range(4)]
    for place in range(7) if not workers else (1, 4, 6):
        ours = fresh()
        if place % 2:
            flat(ours.train_dataloader())
        epoch = place % 2
        going = iter(ours.train_dataloader())
        taken = flat(next(going) for _ in range(min(place, 6)))
        file = io.BytesIO()
        torch.save(json.loads(json.dumps(ours.state_dict())), file)
        file.seek(0)
        resumed = fresh()
        resumed.load_state_dict(torch.load(file, weights_only=True))
        rest = flat(resumed.train_dataloader())
        if place < 6:
            assert taken + rest == due[epoch]
            assert flat(resumed.train_dataloader()) == due[epoch + 1]
        else:  # the pass has given all that it has
            assert taken == due[epoch] and rest == due[epoch + 1]


@every_kind
def test_every_kind_resumes(kind: str) -> None:
    """With another number of workers too; interrupted again, it resumes once more."""
    ours = module(DATA[kind](21), batch_size=4, num_workers=1 if kind == "own" else 0)
    due = flat(module(DATA[kind](21), batch_size=4).train_dataloader())
    going = iter(ours.train_dataloader())
    next(going)
    for place in (1, 2, 3):
        state = ours.state_dict()
        ours = module(DATA[kind](21), batch_size=4)
        ours.load_state_dict(state)
        assert ours.state_dict() == state
        going = iter(ours.train_dataloader())
        assert flat([next(going)]) == due[4 * place : 4 * place + 4]
    assert flat(going) == due[16:]


def test_states_of_what_has_not_begun() -> None:
    """Before the first batch, between two epochs, and after a named one."""
    due = [flat(loader) for loader in [module(Numbers(9)).train_dataloader()] for _ in range(3)]
    ours = module(Numbers(9))
    resumed = module(Numbers(9))
    resumed.load_state_dict(ours.state_dict())
    assert flat(resumed.train_dataloader()) == due[0]
    resumed.load_state_dict(resumed.state_dict())
    assert flat(resumed.train_dataloader()) == due[1]
    going = iter(resumed.train_dataloader())
    state = resumed.state_dict()
    del going
    resumed.load_state_dict(state)
    resumed.set_epoch(0)
    assert flat(resumed.train_dataloader()) == due[0]
    with pytest.raises(ValueError, match="the state has seed 42, but this module has 1: the orders differ"):
        module(Numbers(9), seed=1).load_state_dict(state)


# ── augmentation ───────────────────────────────────────────────────────────────


def augmented(loader: Any) -> dict[int, list[float]]:
    return {int(row[0]): row[1:].tolist() for batch in loader for row in batch}


@pytest.mark.journey
@three_workers
def test_augmentation_does_not_depend_on_who_reads() -> None:
    """No, two or three workers, in training, in validation, and resumed: the same draws; other epochs draw others."""
    alone = module(Noisy(14), Noisy(5), batch_size=4)
    due = [augmented(alone.train_dataloader()) for _ in range(2)]
    seen = augmented(validation(alone))
    assert due[0].keys() == due[1].keys() and all(due[0][i] != due[1][i] for i in due[0])
    for workers in (0, 2, 3):
        torch.manual_seed(workers)
        ours = module(Noisy(14), Noisy(5), batch_size=4, num_workers=workers)
        assert augmented(ours.train_dataloader()) == due[0]
        assert augmented(validation(ours)) == seen
        going = iter(ours.train_dataloader())
        taken = augmented([next(going)])
        resumed = module(Noisy(14), Noisy(5), batch_size=4, num_workers=workers)
        resumed.load_state_dict(ours.state_dict())
        assert {**taken, **augmented(resumed.train_dataloader())} == due[1]
    assert augmented(module(Noisy(14), seed=1).train_dataloader()) != due[0]


# ── Hugging Face ───────────────────────────────────────────────────────────────


def pictures(mode: str = "RGB", column: str = "img", label: str = "label") -> Any:
    """Eight images of one brightness each, with class labels."""
    colours = [i * 10 if mode == "L" else (i * 10, 0, 255) for i in range(8)]
    images = [Image.new(mode, (6, 4), colour) for colour in colours]
    features = datasets.Features({column: datasets.Image(), label: datasets.ClassLabel(names=["a", "b"])})
    return datasets.Dataset.from_dict({column: images, label: [i % 2 for i in range(8)]}, features=features)


@pytest.mark.parametrize("names", [("img", "label"), ("image", "fine_label"), ("picture", "kind")])
@pytest.mark.parametrize("workers", [0, 2])
def test_images_of_the_hub_fit_the_collator(names: tuple[str, str], workers: int) -> None:
    """By the types of their columns: normalised as the vision task has it, labels int64."""
    task = get_default_task_specs()["vision_tiny"]
    data = pictures("RGB", *names)
    batch = next(iter(validation(module(data, data, task_spec=task, batch_size=8, num_workers=workers))))
    assert batch["pixel_values"].shape == (8, 3, 4, 6) and batch["labels"].tolist() == [0, 1] * 4
    red = (torch.arange(8) * 10 / 255 - 0.485) / 0.229
    torch.testing.assert_close(batch["pixel_values"][:, 0, 0, 0], red)
    assert set(batch) == {"pixel_values", "labels"}


def test_grey_images_stay_grey() -> None:
    """Where the first is; without a task they are bytes."""
    batch = next(iter(module(pictures("L"), batch_size=8, shuffle=False).train_dataloader()))
    assert batch["pixel_values"].shape == (8, 1, 4, 6) and batch["pixel_values"].dtype == torch.uint8
    assert batch["pixel_values"][:, 0, 0, 0].tolist() == list(range(0, 80, 10))
    assert pixels(Image.new("CMYK", (2, 3)), "RGB").shape == (3, 3, 2)
    with pytest.raises(ValueError, match="a row has no image: filter such rows out"):
        pixels(None, "RGB")


@pytest.mark.parametrize("workers", [0, 2])
def test_raw_texts_are_tokenised(workers: int) -> None:
    """As of wikitext, where lines are empty: padded, nothing attended, labels ignored; cut as the task says."""
    data = datasets.Dataset.from_dict({"text": ["", "the cat sat on the mat", "dog", "", "the dog sat"]})
    task = a_task(input_schema={"max_seq_len": 4})
    ours = module(data, data, task_spec=task, tokenizer=library_tokenizer(), batch_size=5, num_workers=workers)
    batch = next(iter(validation(ours)))
    assert batch["input_ids"].tolist()[1:3] == [[4, 5, 6, 7], [9, 0, 0, 0]]
    assert batch["attention_mask"].sum(1).tolist() == [0, 4, 1, 0, 3]
    assert batch["labels"][0].tolist() == [-100] * 4 and batch["labels"][2].tolist() == [9, -100, -100, -100]
    longer = module(data, data, task_spec=a_task(), tokenizer=library_tokenizer(), batch_size=5, max_length=6)
    assert next(iter(validation(longer)))["input_ids"].shape == (5, 6)


def test_texts_with_labels_are_classified() -> None:
    """Class labels are kept; other columns too; the task may name the label."""
    data = datasets.Dataset.from_dict(
        {"id": [7, 8], "sentence": ["the cat", "dog"], "stars": [4, 5], "label": [1, 0]},
        features=datasets.Features(
            {
                "id": datasets.Value("int64"),
                "sentence": datasets.Value("string"),
                "stars": datasets.Value("int64"),
                "label": datasets.ClassLabel(names=["bad", "good"]),
            }
        ),
    )
    cls = get_default_task_specs()["cls_tiny"]
    batch = next(iter(module(data, shuffle=False, task_spec=cls, tokenizer=library_tokenizer()).train_dataloader()))
    assert batch["labels"].tolist() == [1, 0] and batch["id"].tolist() == [7, 8]
    assert batch["input_ids"].tolist() == [[4, 5], [9, 0]]
    stars = a_task(task_type="classification", target_field="stars")
    batch = next(iter(module(data, shuffle=False, task_spec=stars, tokenizer=library_tokenizer()).train_dataloader()))
    assert batch["labels"].tolist() == [4, 5] and batch["label"].tolist() == [1, 0]
    assert label_column({"x": None}, None) is None


def test_a_format_of_its_own_is_kept() -> None:
    """Torch's, or a transform's, whatever columns it gives; only labels are renamed."""
    data = pictures().with_transform(lambda rows: {"pixel_values": [torch.ones(3, 2, 2)] * len(rows["img"])} | rows)
    row = HubRows(data)[0]
    assert row["pixel_values"].shape == (3, 2, 2) and row["labels"] == 0 and "img" in row
    whole = pictures().with_transform(
        lambda rows: {"pixel_values": [torch.ones(3, 2, 2)] * len(rows["img"]), "labels": rows["label"]}
    )
    assert set(HubRows(whole)[3]) == {"pixel_values", "labels"}
    batch = next(iter(module(DATA["hub"](4).with_format("torch"), shuffle=False).train_dataloader()))
    assert batch["i"].tolist() == [0, 1, 2, 3]


def test_a_transform_that_draws_draws_the_same() -> None:
    """Of a hub's data set too, whoever reads; each sample its own."""

    def jitter(rows: dict[str, Any]) -> dict[str, Any]:
        return {"i": [torch.tensor([i, float(torch.rand(1))], dtype=torch.float64) for i in rows["i"]]}

    drawn = []
    for workers in (0, 2):
        torch.manual_seed(workers)
        loader = module(DATA["hub"](9).with_transform(jitter), batch_size=4, num_workers=workers).train_dataloader()
        drawn.append({int(row[0]): float(row[1]) for batch in loader for row in batch["i"]})
    assert drawn[0] == drawn[1] and len(set(drawn[0].values())) == 9


def test_kinds_of_data_are_told_apart() -> None:
    """By what they have, not by their package."""
    data = DATA["hub"](4)
    stream = data.to_iterable_dataset()
    assert (is_hub(data), is_hub_stream(data), is_hub(stream), is_hub_stream(stream)) == (True, False, False, True)
    assert not is_hub(Numbers(3)) and not is_hub_stream(Stream(3))
    assert len(HubRows(data.select([]))) == 0 and HubRows(pictures().select([])).mode == "RGB"


# ── streams ────────────────────────────────────────────────────────────────────


@three_workers
@pytest.mark.parametrize("workers", [0, 3])
@pytest.mark.parametrize("make", [Stream, OwnShards])
def test_streams_are_split(make: Any, workers: int) -> None:
    """By a seeded choice: both parts together have each element once, for any number of workers."""
    ours = module(make(60), val_split=0.2, num_workers=workers, batch_size=8)
    train, val = flat(ours.train_dataloader()), flat(validation(ours))
    assert sorted(train + val) == list(range(60)) and 3 <= len(val) <= 22
    assert sorted(flat(ours.train_dataloader())) == sorted(train)
    if make is Stream:
        alone = module(Stream(60), val_split=0.2)
        assert sorted(flat(validation(alone))) == sorted(val)
        assert flat(validation(module(Stream(60), val_split=0.2, seed=1))) != flat(validation(alone))


@pytest.mark.parametrize("workers", [0, 2])
def test_streams_go_through_a_module(workers: int) -> None:
    """For training and for validation; a state says how many batches were delivered."""
    ours = module(Stream(30), Stream(7), num_workers=workers, batch_size=4)
    assert sorted(flat(validation(ours))) == list(range(7))
    due = flat(ours.train_dataloader())
    assert sorted(due) == list(range(30))
    going = iter(ours.train_dataloader())
    taken = flat(next(going) for _ in range(3))
    resumed = module(Stream(30), Stream(7), num_workers=workers, batch_size=4)
    resumed.load_state_dict(ours.state_dict())
    assert taken + flat(resumed.train_dataloader()) == due
    assert flat(StreamPart(Stream(9), 0.0, False, 1)) == list(range(9))


def test_a_module_names_a_streams_epoch(tmp_path: Path) -> None:
    """Which then has another order, and is resumed in it."""
    (tmp_path / "a.jsonl").write_text("".join(f"{i}\n" for i in range(20)))

    def fresh() -> UniversalDataModule:
        return module(StreamingDataset([str(tmp_path / "a.jsonl")], 10), batch_size=4)

    ours = fresh()
    orders = []
    for epoch in (0, 1, 2):
        ours.set_epoch(epoch)
        orders.append(flat(ours.train_dataloader()))
    assert orders[0] != orders[1] != orders[2] and sorted(orders[1]) == list(range(20))
    ours = fresh()
    assert flat(ours.train_dataloader()) == orders[0]
    going = iter(ours.train_dataloader())
    taken = flat(next(going) for _ in range(2))
    resumed = fresh()
    resumed.load_state_dict(ours.state_dict())
    assert taken == orders[1][:8] and flat(resumed.train_dataloader()) == orders[1][8:]
    assert flat(resumed.train_dataloader()) == orders[2]


@pytest.mark.parametrize("workers", [0, 2])
def test_streams_of_the_hub_fit_the_collators(workers: int) -> None:
    """Texts are tokenised, images become pixels, labels are named so; each row once."""
    texts = datasets.Dataset.from_dict({"text": ["the cat", "dog", "", "mat on"] * 3, "label": list(range(12))})
    task = a_task(task_type="classification")
    ours = module(
        texts.to_iterable_dataset(num_shards=2),
        task_spec=task,
        tokenizer=library_tokenizer(),
        max_length=2,
        num_workers=workers,
        batch_size=5,
    )
    batches = list(ours.train_dataloader())
    assert sorted(i for b in batches for i in b["labels"].tolist()) == list(range(12))
    assert all(b["input_ids"].shape[1] <= 2 for b in batches)
    rows = list(HubStream(pictures().to_iterable_dataset()))
    assert rows[3]["pixel_values"].shape == (3, 4, 6) and [r["labels"] for r in rows] == [0, 1] * 4
    bare = list(HubStream(datasets.IterableDataset.from_generator(_bare), library_tokenizer()))
    assert bare[0]["input_ids"] == [4, 5] and bare[0]["labels"] == 1


def _bare() -> Iterator[dict[str, Any]]:
    """Rows whose features nobody has declared."""
    yield {"words": "the cat", "target": 1}


# ── ranks ──────────────────────────────────────────────────────────────────────


def of_a_rank(folder: Path, rank: int) -> dict[str, Any]:
    with process_group(folder, rank, 2):
        ours = module(Numbers(21), Numbers(6), batch_size=4)
        loader = ours.train_dataloader()
        found = {
            "length": len(loader),
            "first": flat(loader),
            "second": flat(ours.train_dataloader()),
            "validation": flat(validation(ours)),
        }
        going = iter(ours.train_dataloader())
        taken = flat([next(going)])
        resumed = module(Numbers(21), Numbers(6), batch_size=4)
        resumed.load_state_dict(ours.state_dict())
        found["third"] = taken + flat(resumed.train_dataloader())
        torch.distributed.barrier()
    return found


def test_two_processes_share_each_epoch(tmp_path: Path) -> None:
    """Each epoch in an order of its own, though nobody names it; resumed too; validation is shared as well."""
    one, other = in_children(of_a_rank, [(tmp_path, 0), (tmp_path, 1)])
    assert one["length"] == other["length"] == 3
    for name in ("first", "second", "third"):
        assert set(one[name]) | set(other[name]) == set(range(21)) and len(one[name]) == len(other[name]) == 11
    assert len({tuple(one[name]) for name in ("first", "second", "third")}) == 3
    assert (one["validation"], other["validation"]) == ([0, 2, 4], [1, 3, 5])


def test_a_loop_that_names_the_epoch_it_resumes_in_goes_on_in_its_midst() -> None:
    """Lightning sets the sampler's epoch behind ``train_dataloader()``: the place that was loaded stays."""
    ours = module(Numbers(21), batch_size=4, val_split=0)
    going = iter(ours.train_dataloader())
    taken = flat([next(going), next(going)])
    resumed = module(Numbers(21), batch_size=4, val_split=0)
    resumed.load_state_dict(ours.state_dict())
    loader: Any = resumed.train_dataloader()
    loader.sampler.set_epoch(0)
    loader.set_epoch(0)
    assert sorted(taken + flat(loader)) == list(range(21))
    loader.set_epoch(0)
    assert len(flat(loader)) == 21


def test_validation_leaves_no_sample_out() -> None:
    """drop_last is of training."""
    ours = module(Numbers(40), Numbers(20), batch_size=16, drop_last=True)
    assert len(flat(validation(ours))) == 20
