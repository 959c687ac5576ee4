"""A cure is offered only where it trains what was meant: it runs, and says nothing that other samples belie."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from dataloader_expert.probes.model.misfits import judged
from dataloader_expert.probes.model.verdict import Verdict
from dataloader_expert.probes.model.ways import functions

N = 12


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def check(model: nn.Module, batch: Any, label: str | None = None) -> Verdict:
    return judged(model, batch, label)


def words(verdict: Verdict) -> str:
    return "; ".join(f"{m.code} {m.field}: {m.says}" for m in verdict.misfits)


class Tagger(nn.Module):
    def __init__(self, rows: int) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(rows, 8), nn.Linear(8, 5)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> Any:
        return self.head(self.table(input_ids) * attention_mask[..., None])


def test_ids_beyond_a_table_are_no_reason_to_feed_the_mask() -> None:
    """Our promise: fields that have the names which the model gives them are not swapped."""
    ids = torch.randint(0, 99, (N, 7))
    ids[3, 2] = 120
    verdict = check(Tagger(100), {"input_ids": ids, "attention_mask": torch.ones(N, 7, dtype=torch.long)})
    assert "out-of-range-ids input_ids" in words(verdict) and "0 to 99" in words(verdict)
    assert verdict.way is not None
    _, given = functions(verdict.way.code())[0]({"input_ids": ids, "attention_mask": torch.ones(N, 7)})
    assert (given["attention_mask"] == 1).all() and int(given["input_ids"].max()) < 100


@pytest.mark.parametrize("padded", [True, False])
def test_padding_beyond_a_table_moves_no_other_id(padded: bool) -> None:
    """Seen: of a table without a row for the padding, all ids were made smaller by one; those that begin at 1 still are."""
    ids = torch.arange(1, 1 + N * 7).view(N, 7).remainder(99) + 1
    ids[0, 3:], ids[1, 5:], ids[2, 6:] = 100, 100, 100
    ids[3, 0] = 100 if not padded else 99
    verdict = check(Tagger(100), {"input_ids": ids, "attention_mask": (ids != 100).long()})
    assert [m.code for m in verdict.misfits] == ["out-of-range-ids"] and verdict.way is not None
    assert ("padding id 100" in words(verdict)) == padded
    _, given = functions(verdict.way.code())[0]({"input_ids": ids, "attention_mask": (ids != 100).long()})
    assert torch.equal(given["input_ids"], torch.where(ids == 100, 0, ids) if padded else ids - 1)


class Columns(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.head = nn.Embedding(20, 4), nn.Embedding(7, 4), nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> Any:
        return self.head(torch.cat([self.a(x[:, 0]), self.b(x[:, 1])], 1))


def test_only_the_column_that_lies_beyond_its_table_is_changed() -> None:
    """Our promise: of several columns of ids, the others keep theirs."""
    x = torch.stack([torch.randint(8, 20, (N,)), torch.randint(0, 7, (N,))], 1)
    x[4, 1] = 9
    verdict = check(Columns(), x)
    assert "in column 1, where the model knows 0 to 6" in words(verdict)
    assert verdict.way is not None
    (fed,), _ = functions(verdict.way.code())[0](x)
    assert torch.equal(fed[:, 0], x[:, 0])
    assert torch.equal(fed[:, 1], torch.where(x[:, 1] < 7, x[:, 1], 0))


def test_a_column_whose_least_id_is_rare_is_not_shifted() -> None:
    """Our promise: ids are judged by the whole batch, however few samples are run first."""
    x = torch.stack([torch.randint(8, 20, (N,)), torch.randint(3, 8, (N,))], 1)
    x[0, 1], x[5, 1] = 0, 7
    verdict = check(Columns(), x)
    assert "ids from 0 to 7 in column 1, where the model knows 0 to 6" in words(verdict)


class Mixed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(9, 4), nn.Linear(6, 2)

    def forward(self, place: torch.Tensor, age: torch.Tensor, income: torch.Tensor) -> Any:
        return self.head(torch.cat([self.table(place), age[:, None], income[:, None]], 1))


def test_features_in_double_precision_are_no_ids() -> None:
    """Our promise: 37.5 does not become 37 so that a call runs."""
    batch = {"place": torch.randint(0, 9, (N,)), "age": torch.rand(N).double() * 80, "income": torch.rand(N).double()}
    verdict = check(Mixed(), batch)
    assert verdict.way is not None
    _, given = functions(verdict.way.code())[0](batch)
    assert torch.allclose(given["age"].double(), batch["age"]) and torch.allclose(
        given["income"].double(), batch["income"]
    )
    assert "ids" not in words(verdict)


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8])
def test_several_labels_a_sample_are_not_one(dtype: torch.dtype) -> None:
    """Our promise: rows with two labels, or with none, are for binary cross-entropy."""
    y = torch.zeros(N, 4, dtype=dtype)
    y[0, :2] = y[1, 3] = 1
    verdict = check(nn.Linear(6, 4), (torch.rand(N, 6), y))
    assert "several labels a sample" in words(verdict) and "one-hot" not in words(verdict)
    assert verdict.way is not None
    assert torch.equal(functions(verdict.way.code())[1]((torch.rand(N, 6), y)), y.float())


def test_one_label_a_sample_is_one() -> None:
    """Our promise: true one-hot rows are still told as such."""
    y = nn.functional.one_hot(torch.randint(0, 4, (N,)), 4)
    assert "one-hot" in words(check(nn.Linear(6, 4), (torch.rand(N, 6), y)))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn, self.head = nn.LSTM(4, 8, batch_first=True), nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> Any:
        return self.head(self.rnn(x)[0][:, -1])


@pytest.mark.parametrize(
    ("model", "x", "says"),
    [
        (Recurrent(), torch.rand(N, 24, 3), "3 features where the model takes 4"),
        (
            nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 2)),
            torch.rand(N, 10),
            "10 features where the model takes 12",
        ),
    ],
    ids=["recurrent", "linear"],
)
def test_features_that_are_missing_are_not_made_up(model: nn.Module, x: torch.Tensor, says: str) -> None:
    """Our promise: rows of features are not resized like pictures; what the layer takes is said."""
    verdict = check(model, (x, torch.randint(0, 2, (N,))))
    assert not verdict.accepted and says in words(verdict)
    assert not any(m.cured for m in verdict.misfits)


class Placed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.places, self.head = nn.Embedding(50, 8), nn.Embedding(10, 8), nn.Linear(8, 50)

    def forward(self, x: torch.Tensor) -> Any:
        return self.head(self.table(x) + self.places(torch.arange(x.shape[1])))


def test_a_target_is_cut_with_its_input() -> None:
    """Our promise: what the cure returns goes into a loss."""
    batch = (torch.randint(0, 50, (N, 16)), torch.randint(0, 50, (N, 16)))
    model = Placed()
    verdict = check(model, batch)
    assert "length 16 where the model takes up to 10" in words(verdict) and verdict.way is not None
    adapt, target = functions(verdict.way.code())
    given, named = adapt(batch)
    out = model(*given, **named)
    assert nn.functional.cross_entropy(out.flatten(0, 1), target(batch).flatten()).isfinite()


class Keywords(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(6, 2)

    def forward(self, **fields: torch.Tensor) -> Any:
        return self.head(fields["x"])


def test_a_model_that_takes_fields_by_name_gets_them() -> None:
    assert check(Keywords(), {"x": torch.rand(N, 6), "y": torch.randint(0, 2, (N,))}, "y").accepted


def test_the_target_may_come_first() -> None:
    """Our promise: (label, image) is told, and fed the right way round."""
    batch = (torch.randint(0, 2, (N,)), torch.rand(N, 3, 16, 16))
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2))
    verdict = check(model, batch)
    assert "(target, input)" in words(verdict) and verdict.way is not None
    assert torch.equal(functions(verdict.way.code())[1](batch), batch[0])


@pytest.mark.parametrize(
    ("model", "batch"),
    [
        (nn.Linear(1, 1), (torch.rand(N, 1).double(), torch.rand(N, 1))),
        (nn.Linear(6, 5), (torch.rand(N, 5), torch.rand(N, 6))),
        (
            nn.Conv2d(3, 3, 3, padding=1),
            (torch.randint(0, 256, (N, 3, 16, 16), dtype=torch.uint8), torch.rand(N, 3, 16, 16)),
        ),
    ],
    ids=["doubles", "features", "denoising"],
)
def test_an_input_that_differs_is_not_fed_the_target(model: nn.Module, batch: Any) -> None:
    """Our promise: what is wrong with the input is said of the input."""
    verdict = check(model, batch)
    assert "(target, input)" not in words(verdict) and verdict.misfits
    assert all(m.field == "0" for m in verdict.misfits)


def test_pictures_are_resized_for_models_without_convolutions() -> None:
    """Our promise: 32 x 32 for a network of 28 x 28 is mended as before."""
    model = nn.Sequential(nn.Flatten(), nn.Linear(784, 4))
    verdict = check(model, (torch.rand(N, 1, 32, 32), torch.randint(0, 4, (N,))))
    assert verdict.way is not None and "28 x 28" in words(verdict)


class FixedBatch(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.LSTM(6, 8)
        self.state = nn.Parameter(torch.zeros(1, N, 8))

    def forward(self, x: torch.Tensor) -> Any:
        return self.rnn(x[None], (self.state, self.state))[0][0]


def test_a_model_for_batches_of_one_size_is_tried_with_that() -> None:
    assert check(FixedBatch(), (torch.rand(N, 6), torch.randint(0, 8, (N,)))).accepted


class OwnLoss(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(6, 4)

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> Any:
        return nn.functional.cross_entropy(self.head(x), labels)


def test_labels_beyond_the_head_of_a_model_with_its_own_loss_are_named() -> None:
    verdict = check(OwnLoss(), {"x": torch.rand(N, 6), "labels": torch.arange(N) % 5})
    assert "label-out-of-range labels: labels from 0 to 4" in words(verdict)


class Dense(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 5, 3, padding=1)

    def forward(self, image: torch.Tensor) -> Any:
        return self.conv(image)


def test_a_mask_beside_an_image_is_its_target() -> None:
    """Our promise: by name in a dictionary as by place in a tuple: 255 marks what has no class."""
    mask = torch.randint(0, 5, (N, 16, 16))
    mask[:, 0] = 255
    verdict = check(Dense(), {"image": torch.rand(N, 3, 16, 16), "mask": mask})
    assert "255 seems to mark unlabelled entries" in words(verdict)


class Segments(Dense):
    def __init__(self) -> None:
        super().__init__()
        self.loss = nn.CrossEntropyLoss(ignore_index=255)

    def forward(self, image: torch.Tensor, mask: torch.Tensor | None = None) -> Any:
        out = super().forward(image)
        return out if mask is None else self.loss(out, mask)


@pytest.mark.parametrize("kind", [tuple, dict])
def test_a_mark_that_the_models_own_loss_leaves_out_is_no_misfit(kind: type) -> None:
    """Seen: ignore_index was to be passed to a loss that has it."""
    mask = torch.randint(0, 5, (N, 16, 16))
    mask[:, 0] = 255
    image = torch.rand(N, 3, 16, 16)
    verdict = check(Segments(), {"image": image, "mask": mask} if kind is dict else (image, mask))
    assert verdict.accepted
    assert not verdict.misfits
    assert "batch[1]" in str(verdict.way and verdict.way.arguments) or kind is dict


class Encodes(nn.Module):
    """Hides what its mask is 1 for."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(50, 8, padding_idx=0)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> Any:
        hides = attention_mask.bool()
        return self.layer(self.table(input_ids), src_key_padding_mask=hides)[:, 0]


def test_a_mask_of_numbers_the_wrong_way_round_is_told_once() -> None:
    """Seen: NaN in the output was said to come from the ids, before the mask, which it came from, was."""
    lengths = torch.randint(2, 9, (N,))
    lengths[0] = 9  # nothing of it is padding
    real = torch.arange(9) < lengths[:, None]
    ids = torch.where(real, torch.randint(1, 50, (N, 9)), 0)
    verdict = check(Encodes(), {"input_ids": ids, "attention_mask": real.long()})
    assert [(m.code, m.field, m.cured) for m in verdict.misfits] == [("value-range-mismatch", "attention_mask", True)]
    sound = check(Encodes(), {"input_ids": ids, "attention_mask": (~real).long()})
    assert sound.misfits == ()


class Foreground(nn.Module):
    """Its loss of pixels is within it."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 1, 1))

    def forward(self, image: torch.Tensor, mask: torch.Tensor) -> Any:
        return nn.functional.binary_cross_entropy_with_logits(self.layers(image), mask)


@pytest.mark.parametrize(("white", "scale"), [(255, "/ 255"), (1, "float32)")])
def test_masks_of_bytes_are_made_floats_before_images_are_resized(white: int, scale: str) -> None:
    """Seen: resizing the images took all the time; and 0 and 1 as bytes were divided by 255."""
    mask = white * torch.randint(0, 2, (N, 1, 64, 64)).byte()
    verdict = judged(Foreground(), {"image": torch.rand(N, 3, 64, 64), "mask": mask}, None, n=N)
    assert [(m.code, m.field, m.cured) for m in verdict.misfits] == [("dtype-mismatch", "mask", True)]
    assert verdict.way is not None
    assert scale in verdict.way.code()
    made = functions(verdict.way.code())[0]({"image": torch.rand(N, 3, 64, 64), "mask": mask})[1]["mask"]
    assert made.unique().tolist() == [0, 1]


class Logits(Foreground):
    """Its loss is outside."""

    def forward(self, image: torch.Tensor) -> Any:  # type: ignore[override]
        return self.layers(image)


@pytest.mark.parametrize(
    ("white", "shape", "codes"),
    [
        (255.0, (N, 1, 16, 16), ["value-range-mismatch"]),
        (255.0, (N, 16, 16), ["value-range-mismatch"]),
        (1.0, (N, 1, 16, 16), []),
        (1.0, (N, 1, 8, 8), ["shape-mismatch"]),
    ],
)
def test_masks_of_black_and_white_are_no_targets_of_a_loss(white: float, shape: Any, codes: list[str]) -> None:
    """Seen: floats of 0 and 255, which binary cross-entropy takes without an error."""
    mask = white * (torch.arange(torch.Size(shape).numel()) % 3 == 0).float().view(shape)
    verdict = check(Logits(), (torch.rand(N, 3, 16, 16), mask))
    assert [m.code for m in verdict.misfits] == codes and verdict.accepted and verdict.way is not None
    made = functions(verdict.way.code())[1]((None, mask))
    assert made.max() == 1 and made.shape == (N, 1, 16, 16)


class Detects(nn.Module):
    """Refuses boxes that end before they begin, in evaluation too."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 4)

    def forward(self, images: Any, targets: Any) -> Any:
        for t in targets:
            if (t["boxes"][:, 2:] <= t["boxes"][:, :2]).any():
                raise ValueError("All bounding boxes should have positive height and width.")
        made = [self.layer(x.mean((1, 2))) for x in images]
        if not targets:
            return made
        return {"loss": sum((m - t["boxes"]).abs().mean() for m, t in zip(made, targets, strict=True))}


class MayDetect(Detects):
    """Runs without targets in evaluation alone, as torchvision's detectors do."""

    def forward(self, images: Any, targets: Any = None) -> Any:
        if targets is None and self.training:
            raise ValueError("In training mode, targets should be passed")
        return super().forward(images, targets or ())


@pytest.mark.parametrize("made", [Detects, MayDetect])
def test_boxes_of_sizes_are_made_corners(made: Any) -> None:
    """Seen: a detector that looks at boxes in evaluation too was said to raise, without a cure."""
    images = tuple(torch.rand(3, 40 + i, 50) for i in range(N))
    sizes = tuple({"boxes": torch.tensor([[20.0, 10, 8, 12 + i]]), "labels": torch.tensor([1])} for i in range(N))
    verdict = judged(made(), (images, sizes), None, n=N)
    assert [(m.code, m.field, m.cured) for m in verdict.misfits] == [("layout-mismatch", "1.boxes", True)]
    assert verdict.way is not None
    given, _ = functions(verdict.way.code())[0]((images, sizes))
    assert given[1][0]["boxes"].tolist() == [[20, 10, 28, 22]]


class Pools(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Conv2d(3, 4, 3)

    def forward(self, x: torch.Tensor) -> Any:
        return self.layer(x).mean((-2, -1))


@pytest.mark.parametrize("named", [False, True])
def test_one_sample_of_a_list_is_not_the_batch(named: bool) -> None:
    """Seen: images of several sizes, which stay a list, were accepted: the model had been given the first of them alone."""
    images, labels = [torch.rand(3, 40 + i, 50 - i) for i in range(9)], torch.arange(9) % 4
    batch = {"image": images, "label": labels} if named else (images, labels)
    verdict = judged(Pools(), batch, "label" if named else None, n=9)
    assert not verdict.accepted
    assert [m.code for m in verdict.misfits] == ["shape-mismatch"]
    assert "a list with one tensor per sample" in verdict.misfits[0].says


class Signs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        return nn.functional.binary_cross_entropy(self.layer(x).squeeze(1).sigmoid(), y)


def test_labels_of_signs_are_made_zeros_and_ones() -> None:
    """Seen: labels of -1 and 1 made the loss raise, and the advice was not to standardize the inputs."""
    y = torch.randn(N).sign()
    verdict = check(Signs(), {"x": torch.randn(N, 4), "y": y}, "y")
    assert [(m.code, m.field, m.cured) for m in verdict.misfits] == [("value-range-mismatch", "y", True)]
    assert verdict.way is not None
    made = functions(verdict.way.code())[0]({"x": torch.randn(N, 4), "y": y})[1]["y"]
    assert made.tolist() == (y > 0).float().tolist()


class Halves(nn.Module):
    """Joins what it halves and doubles again with what it had; ``classes``: of its own loss."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.down, self.up = nn.Conv2d(3, 4, 3, padding=1), nn.ConvTranspose2d(4, 4, 2, stride=2)
        self.out = nn.Conv2d(8, classes, 1)

    def forward(self, image: torch.Tensor, mask: torch.Tensor) -> Any:
        x = self.down(image)
        y = self.out(torch.cat([x, self.up(nn.functional.max_pool2d(x, 2))], 1))
        if y.shape[1] == 1:
            return nn.functional.binary_cross_entropy_with_logits(y, mask)
        return nn.functional.cross_entropy(y, mask)


@pytest.mark.parametrize("classes", [1, 4])
def test_a_mask_is_resized_with_its_image_where_the_loss_is_within_the_model(classes: int) -> None:
    """Seen: images of an odd size were said to be rejected, without a cure, as the mask alone kept its size."""
    mask = torch.randint(0, classes, (N, 31, 31)) if classes > 1 else torch.randint(0, 2, (N, 1, 31, 31)).float()
    verdict = judged(Halves(classes), {"image": torch.rand(N, 3, 31, 31), "mask": mask}, None, n=N)
    assert [(m.code, m.field, m.cured) for m in verdict.misfits] == [("shape-mismatch", "image", True)]
    assert verdict.way is not None
    _, given = functions(verdict.way.code())[0]({"image": torch.rand(N, 3, 31, 31), "mask": mask})
    assert given["image"].shape[-2:] == given["mask"].shape[-2:] == (32, 32)
    assert {*given["mask"].flatten().tolist()} == {*mask.flatten().tolist()}
