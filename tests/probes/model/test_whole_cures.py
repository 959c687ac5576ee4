"""Cures that are more than one change: graphs, lists for detectors, packed sequences, masks stored as images, and all fields renamed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from dataloader_expert.probes.model.mends import mends, wants
from dataloader_expert.probes.model.misfits import judged
from dataloader_expert.probes.model.verdict import Verdict
from dataloader_expert.probes.model.ways import functions

N = 8


def ask(model: nn.Module, batch: Any, **said: Any) -> Verdict:
    return judged(model, batch, None, said, seconds=60, n=N)


def run(verdict: Verdict, model: nn.Module, batch: Any) -> Any:
    assert verdict.way is not None
    given, named = functions(verdict.way.code())[0](batch)
    return model.eval()(*given, **named)


class Graphs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor, batch: torch.Tensor) -> Any:
        h = self.layer(x)
        h = h + torch.zeros_like(h).index_add(0, edge_index[1], h[edge_index[0]])
        return torch.zeros(int(batch.max()) + 1, 3).index_add(0, batch, h)


def test_padded_graphs_become_one() -> None:
    """Seen: "index 3 is out of bounds", of graphs padded like sequences; the whole gives what each graph gives alone."""
    sizes = torch.tensor([3, 5, 4, 6, 7, 3, 5, 4])
    edges = [torch.stack([torch.arange(n - 1), torch.arange(1, n)]) for n in sizes.tolist()]
    x = torch.rand(N, 7, 4) * (torch.arange(7) < sizes[:, None])[..., None]
    batch = {"x": x, "x_lengths": sizes, "edge_index": edges, "y": torch.arange(N) % 3}
    model = Graphs()
    verdict = ask(model, batch)
    assert [(m.code, m.field, m.cured) for m in verdict.misfits] == [("shape-mismatch", "edge_index", True)]
    out = run(verdict, model, batch)
    for i, n in enumerate(sizes.tolist()):
        alone = model(x[i, :n], edges[i], torch.zeros(n, dtype=torch.long))
        assert torch.allclose(out[i], alone[0], atol=1e-5)


class Detector(nn.Module):
    """``lists``: of images and of what is in each, in training as in evaluation."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Conv2d(3, 4, 3)

    def forward(self, images: list[torch.Tensor], targets: Any = None) -> Any:
        if not isinstance(images, list):
            raise ValueError(f"Expected input images to be of a list of 3D tensors, got {type(images)}")
        found = [self.layer(i[None]).mean((2, 3))[0] for i in images]
        if self.training:
            return {"loss": sum((o - t["boxes"].sum(0)).abs().sum() for o, t in zip(found, targets, strict=True))}
        return [{"boxes": o[None]} for o in found]


@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8], ids=str)
def test_a_detector_gets_lists(dtype: torch.dtype) -> None:
    """Seen: "images must be a list" without a cure."""
    count = torch.tensor([1, 2, 0, 5, 3, 2, 2, 1])
    batch = {"image": torch.ones(N, 3, 12, 12).to(dtype), "boxes": torch.rand(N, 5, 4), "boxes_lengths": count}
    batch |= {"category": torch.ones(N, 5, dtype=torch.int32), "category_lengths": count}
    model = Detector()
    verdict = ask(model, batch)
    assert [(m.code, m.field, m.cured) for m in verdict.misfits] == [("shape-mismatch", "image", True)]
    assert verdict.way is not None
    _, named = functions(verdict.way.code())[0](batch)
    assert [len(t["boxes"]) for t in named["targets"]] == count.tolist()
    assert {t["labels"].dtype for t in named["targets"]} == {torch.int64}
    assert len(run(verdict, model, batch)) == N


class Packs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.head = nn.GRU(4, 6, batch_first=True), nn.Linear(6, 2)

    def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> Any:
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
        return self.head(self.layer(packed)[1][-1])


@pytest.mark.parametrize("lengths", [[3, 9, 4, 6, 7, 3, 5, 4], [9, 8, 7, 6, 5, 3, 4, 2]], ids=["at once", "late"])
def test_lengths_in_no_order_are_sorted_with_their_labels(lengths: list[int]) -> None:
    """Seen: torch's own error alone; of samples that ascend late, not even that."""
    batch = {"x": torch.rand(N, 9, 4), "lengths": torch.tensor(lengths), "label": torch.tensor(lengths) % 2}
    model = Packs()
    verdict = ask(model, batch)
    assert not verdict.accepted
    [misfit] = verdict.misfits
    assert (misfit.code, misfit.field, misfit.cured) == ("layout-mismatch", "lengths", True)
    assert "enforce_sorted=False" in misfit.says
    assert verdict.way is not None
    adapt, target = functions(verdict.way.code())
    assert torch.equal(target(batch), adapt(batch)[1]["lengths"] % 2)


class Segments(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Conv2d(3, 2, 3, padding=1)

    def forward(self, image: torch.Tensor) -> Any:
        return self.layer(image)


class SegmentsToLoss(Segments):
    def forward(self, image: torch.Tensor, mask: torch.Tensor) -> Any:  # type: ignore[override]
        return nn.functional.cross_entropy(self.layer(image), mask)


@pytest.mark.parametrize("within", [True, False], ids=["its loss", "a loss outside"])
@pytest.mark.parametrize("white", [1, 255])
def test_masks_stored_as_images_become_classes(within: bool, white: int) -> None:
    """Seen: [B, 1, H, W] of 0 and 255, of which 255 is the object and no mark of what has no class."""
    mask = (torch.rand(N, 1, 12, 12) > 0.4).to(torch.uint8) * white
    batch = {"image": torch.rand(N, 3, 12, 12), "mask": mask}
    verdict = ask(SegmentsToLoss() if within else Segments(), batch)
    [misfit] = verdict.misfits
    assert (misfit.code, misfit.cured) == ("shape-mismatch", True)
    assert verdict.way is not None
    adapt, target = functions(verdict.way.code())
    made = adapt(batch)[1]["mask"] if within else target(batch)
    assert torch.equal(made, (mask[:, 0] > 0).long())


class Named(nn.Module):
    """As models of transformers: their config notes which loss the labels of a call are for."""

    main_input_name = "input_ids"

    def __init__(self) -> None:
        super().__init__()
        self.config = SimpleNamespace(kind=None)
        self.table, self.head = nn.Embedding(50, 6), nn.Linear(6, 3)

    def forward(self, input_ids: Any = None, attention_mask: Any = None, labels: Any = None) -> Any:
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        out = self.head((self.table(input_ids) * mask[..., None]).sum(1))
        if labels is None:
            return {"logits": out}
        self.config.kind = self.config.kind or ("several" if labels.is_floating_point() else "one")
        loss = nn.CrossEntropyLoss() if self.config.kind == "one" else nn.BCEWithLogitsLoss()
        return {"loss": loss(out, labels), "logits": out}


def ids() -> tuple[torch.Tensor, torch.Tensor]:
    real = torch.arange(9) < torch.tensor([3, 9, 4, 6, 7, 3, 5, 4])[:, None]
    return torch.randint(1, 50, (N, 9)) * real, real


@pytest.mark.parametrize("hides", [False, True], ids=["1 for real", "1 for padding"])
def test_the_mask_and_the_labels_go_with_renamed_ids(hides: bool) -> None:
    """Seen: ids renamed, and padding attended to since the mask was left behind."""
    x, real = ids()
    batch = {"ids": x, "mask": (real != hides).long(), "y": torch.arange(N) % 3}
    verdict = ask(Named(), batch)
    assert verdict.way is not None
    _, named = functions(verdict.way.code())[0](batch)
    assert torch.equal(named["input_ids"], x)
    assert torch.equal(named["attention_mask"], real.long())
    assert torch.equal(named["labels"], batch["y"])


def test_classes_as_floats_become_whole_numbers() -> None:
    """Seen: no cure, since a call that failed had made the model take the labels for several."""
    x, real = ids()
    batch = {"input_ids": x, "attention_mask": real.long(), "labels": (torch.arange(N) % 3).float()}
    verdict = ask(Named(), batch)
    assert [(m.code, m.field, m.cured) for m in verdict.misfits] == [("dtype-mismatch", "labels", True)]


class Exact(nn.Module):
    """Takes one height and width; or none below it."""

    def __init__(self, side: int, exact: bool = True) -> None:
        super().__init__()
        self.layer, self.side, self.exact = nn.Conv2d(3, 4, 3), side, exact

    def forward(self, x: torch.Tensor) -> Any:
        if min(x.shape[2:]) < self.side or (self.exact and max(x.shape[2:]) > self.side):
            raise ValueError(f"image size {list(x.shape[2:])} does not match")
        return self.layer(x).mean((2, 3))


class Halved(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Conv2d(3, 4, 3)

    def forward(self, x: torch.Tensor) -> Any:
        if x.shape[2] % 32:
            raise ValueError(f"image size {list(x.shape[2:])} does not match")
        return self.layer(x).mean((2, 3))


def test_what_the_model_declares_comes_before_guesses() -> None:
    """Seen: "multiples of 32" where the config says 64, and of 64 where anything from 63 goes."""
    batch = [torch.rand(N, 3, 48, 48), torch.arange(N) % 4]
    [exact] = ask(Exact(64), batch, size=64).misfits
    [least] = ask(Exact(60, exact=False), batch).misfits
    assert "the model takes 64 x 64" in exact.says
    assert "it runs with 64 x 64" in least.says
    assert "multiples" not in exact.says + least.says
    [halved] = ask(Halved(), batch).misfits
    assert "multiples of 32" in halved.says


def test_sound_of_16_bits_is_scaled() -> None:
    """Our promise: as pictures of bytes are; whole numbers of a short row are no sound."""
    model = nn.Conv1d(1, 2, 5)
    first = [next(m.expression for m in mends(torch.ones(N, n, dtype=torch.int16), wants(model))) for n in (4000, 20)]
    assert "/ 32768" in first[0]
    assert "/" not in first[1]
