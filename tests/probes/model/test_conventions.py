"""What several conventions are for, and the batch follows another than the model: boxes, edges, lengths of frames, the order of parts."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from dataloader_expert.probes.model.misfits import judged
from dataloader_expert.probes.model.verdict import Verdict
from dataloader_expert.probes.model.ways import functions

N = 6


def adapted(verdict: Verdict, batch: Any) -> list[Any]:
    assert verdict.way is not None
    given, named = functions(verdict.way.code())[0](batch)
    return [*given, *named.values()]


class Detector(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.box = nn.Linear(3, 4)

    def forward(self, images: Any, targets: Any = None) -> Any:
        found = [self.box(image.mean((1, 2))) for image in images]
        if not self.training:
            return [{"boxes": one[None]} for one in found]
        if any((t["boxes"][:, 2:] <= t["boxes"][:, :2]).any() for t in targets):
            raise ValueError("All bounding boxes should have positive height and width.")
        return {"loss": sum((one - t["boxes"]).abs().mean() for one, t in zip(found, targets, strict=True))}


def scenes(corners: bool) -> tuple[Any, Any]:
    torch.manual_seed(0)
    images = tuple(torch.rand(3, 16, 16) for _ in range(N))
    sizes = [torch.cat([torch.rand(k % 3 + 1, 2) * 8 + 4, torch.rand(k % 3 + 1, 2) * 3 + 1], 1) for k in range(N)]
    boxes = [torch.cat([b[:, :2], b[:, :2] + b[:, 2:]], 1) if corners else b for b in sizes]
    return images, tuple({"boxes": b, "labels": torch.ones(len(b), dtype=torch.long)} for b in boxes)


def test_boxes_with_sizes_become_corners() -> None:
    """Our promise: the cure of a detector that raises in training runs there."""
    batch = scenes(corners=False)
    verdict = judged(Detector(), batch, None, n=N)
    assert [(m.code, m.field, m.cured) for m in verdict.misfits] == [("layout-mismatch", "1.boxes", True)]
    made = adapted(verdict, batch)[1]
    assert all(torch.equal(a["boxes"], b["boxes"]) for a, b in zip(made, scenes(corners=True)[1], strict=True))


def test_boxes_that_are_corners_stay() -> None:
    assert judged(Detector(), scenes(corners=True), None, n=N).misfits == ()


class OfGraphs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(5, 2)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> Any:
        source, aim = edge_index
        h = self.layer(x)
        return h.index_add(0, aim, h[source])


def test_edges_in_rows_are_turned() -> None:
    edges = torch.randint(0, 9, (14, 2))
    batch = {"x": torch.rand(9, 5), "edge_index": edges, "y": torch.arange(9) % 2}
    verdict = judged(OfGraphs(), batch, "y")
    assert [(m.code, m.field, m.cured) for m in verdict.misfits] == [("layout-mismatch", "edge_index", True)]
    assert torch.equal(adapted(verdict, batch)[1], edges.T)


class OfSpeech(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.loss = nn.Conv1d(4, 7, 3, 3, 1), nn.CTCLoss(zero_infinity=True)

    def forward(self, x: torch.Tensor, lengths: torch.Tensor, y: torch.Tensor, y_lengths: torch.Tensor) -> Any:
        return self.loss(self.layer(x.transpose(1, 2)).permute(2, 0, 1).log_softmax(-1), y, lengths, y_lengths)


def test_lengths_count_the_frames_that_a_loss_is_given() -> None:
    lengths = torch.tensor([60, 41, 52, 33, 47, 38])
    batch = (torch.rand(N, 60, 4), lengths, torch.randint(1, 7, (3 * N,)), torch.full((N,), 3))
    verdict = judged(OfSpeech(), batch, None)
    assert [(m.field, m.cured) for m in verdict.misfits] == [("1", True)]
    assert "shortens time by 3" in verdict.misfits[0].says
    assert torch.equal(adapted(verdict, batch)[1], (lengths + 2) // 3)


class OfTwoParts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(5, 3)

    def forward(self, past: torch.Tensor, calendar: torch.Tensor) -> Any:
        return self.layer(torch.cat([past, calendar], -1)).mean(1)


def test_inputs_that_the_target_stands_between_are_found() -> None:
    """Seen: only the first parts of a batch, as many as the model takes, were tried."""
    past, future, calendar = torch.rand(N, 12, 1), torch.rand(N, 3), torch.rand(N, 12, 4)
    verdict = judged(OfTwoParts(), [past, future, calendar], None)
    assert [(m.code, m.cured) for m in verdict.misfits] == [("key-missing", True)]
    assert verdict.way is not None
    assert (verdict.way.names, verdict.way.target) == (("0", "2"), "batch[1]")


class OfIds(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.layer = nn.Embedding(20, 4), nn.Linear(4, 3)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> Any:
        return self.layer((self.table(ids) * mask.view(len(ids), -1, 1)).mean(1))


def test_a_target_is_no_input_because_the_model_runs_with_it() -> None:
    """Our promise: ids beyond the table are told, whatever other parts the batch has."""
    batch = [torch.randint(0, 30, (N, 8)), torch.ones(N, 8), torch.arange(N) % 3]
    verdict = judged(OfIds(), batch, None)
    assert [m.code for m in verdict.misfits] == ["out-of-range-ids"]
