"""Thumbnails: bounded, encoded anew, and of nothing that a strict decoder refuses."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from dataloader_expert.probes.data import pictures
from dataloader_expert.probes.data.pictures import SIDE, TALL, looks_like_images, thumbnail, trace


def opened(data: str) -> Any:
    kind, _, content = data.partition(";base64,")
    assert kind in ("data:image/png", "data:image/jpeg")
    return Image.open(io.BytesIO(base64.b64decode(content)))


@pytest.mark.parametrize(
    ("value", "size"),
    [
        pytest.param(Image.new("RGB", (1000, 500), "red"), (SIDE, SIDE // 2), id="a large picture"),
        pytest.param(Image.new("RGB", (40, 20)), (40, 20), id="a small one as it is"),
        pytest.param(Image.new("CMYK", (200, 200)), (SIDE, SIDE), id="inks"),
        pytest.param(Image.new("I;16", (30, 30), 4000), (30, 30), id="16 bits"),
        pytest.param(Image.new("P", (30, 30)), (30, 30), id="a palette"),
        pytest.param(np.zeros((3, 24, 32), np.uint8), (32, 24), id="channels first"),
        pytest.param(np.zeros((24, 32, 3), np.uint8), (32, 24), id="channels last"),
        pytest.param(np.zeros((24, 32), bool), (32, 24), id="a mask"),
        pytest.param(torch.full((1, 8, 8), torch.nan), (8, 8), id="not a number"),
        pytest.param(torch.tensor([[[-3.0, 3.0]]]), (2, 1), id="floats"),
    ],
)
def test_a_picture_becomes_a_small_one(value: Any, size: tuple[int, int]) -> None:
    """Our promise: whatever a loader delivers as an image."""
    made = thumbnail(value)
    assert made is not None
    image = opened(made["data"])
    assert image.size == size
    assert len(made["data"]) < 12_000
    assert not image.info.get("exif")


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(None, id="nothing"),
        pytest.param("text", id="a text"),
        pytest.param(np.zeros((5, 0, 3), np.uint8), id="no pixel"),
        pytest.param(np.zeros(9), id="a vector"),
        pytest.param(np.array([["a", "b"]], object), id="objects"),
        pytest.param(np.zeros((7, 9, 11, 3), np.uint8), id="a film"),
        pytest.param(torch.zeros(3, 8, 8, dtype=torch.complex64), id="complex numbers"),
    ],
)
def test_what_is_no_picture_has_none(value: Any) -> None:
    """Our promise: a picture is a convenience; that there is none is no error."""
    assert thumbnail(value) is None


def test_too_large_a_picture_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our promise: decoded size is bounded."""
    monkeypatch.setattr(pictures, "MOST_VALUES", 1000)
    assert thumbnail(Image.new("RGB", (100, 100))) is None
    assert thumbnail(np.zeros((100, 100), np.uint8)) is None


def test_floats_keep_the_scale_of_their_batch() -> None:
    """Our promise: a dark sample of a batch looks dark."""
    made = thumbnail(torch.full((1, 4, 4), -1.0), (-1.0, 1.0))
    assert made is not None
    assert opened(made["data"]).getextrema() == (0, 0)


@pytest.mark.parametrize(
    ("shape", "kind", "is_one"),
    [
        ((16, 3, 8, 8), None, True),
        ((16, 8, 8, 3), None, True),
        ((16, 28, 28), "image", True),
        ((16, 28, 28), "sequence", False),
        ((16, 5, 8, 8), None, False),
        ((16, 10), "image", False),
        ((0, 3, 8, 8), None, False),
    ],
)
def test_images_of_a_batch_are_known_by_their_shape(shape: tuple[int, ...], kind: str | None, is_one: bool) -> None:
    """Our promise: a sequence of vectors is not shown as a picture."""
    assert looks_like_images(torch.zeros(shape), kind) is is_one


def test_no_finding_takes_all_places() -> None:
    """Our promise: a few samples of each finding, the worst finding first, none twice; none is read that cannot be."""
    from dataloader_expert.conclusions import Finding
    from dataloader_expert.probes.base import Bench

    def found(code: str, severity: Any, samples: range) -> Finding:
        return Finding(code, severity, "m", ({"fact": "f", "at": {}},), "f", tuple({"sample": i} for i in samples))

    bench = object.__new__(Bench)
    bench.findings = [
        found("dark", "info", range(9)),
        found("label-conflict", "error", range(5, 9)),
        found("odd-name", "error", range(20, 30)),
        found("sample-crashes", "warning", range(20, 23)),
    ]
    told = [(code, where["sample"]) for code, where in pictures.odd_places(bench)]
    assert [t for t in told if t[1] >= 20] == [("sample-crashes", 20), ("sample-crashes", 21), ("sample-crashes", 22)]
    chosen = [t for t in told if t[1] < 20]
    assert chosen == [
        ("label-conflict", 5),
        ("label-conflict", 6),
        ("label-conflict", 7),
        ("dark", 0),
        ("dark", 1),
        ("dark", 2),
    ]


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(np.sin(np.arange(8000) / 50).astype(np.float32), id="a sound"),
        pytest.param(torch.arange(5), id="few steps"),
        pytest.param(np.full((30, 2), np.nan), id="not a number"),
        pytest.param(np.zeros((640, 12), np.int16), id="constant"),
    ],
)
def test_a_sequence_becomes_a_small_picture_too(value: Any) -> None:
    """Our promise: what is heard, or changes with time, can be seen."""
    made = trace(value)
    assert made is not None
    assert made["width"] == len(value)
    assert opened(made["data"]).size == (SIDE, TALL)
    assert len(made["data"]) < 3000


def test_a_rising_sequence_rises() -> None:
    """Our promise: the foot of the picture is the least value, its top the largest."""
    made = trace(np.arange(96.0))
    assert made is not None
    pixels = np.asarray(opened(made["data"]))
    assert pixels[-1, 0] == pixels[0, -1] == 40
    assert pixels[0, 0] == pixels[-1, -1] == 255


@pytest.mark.parametrize("value", [None, "text", np.zeros(0), np.zeros((2, 2, 2)), np.array(["a"])])
def test_what_is_no_sequence_has_no_trace(value: Any) -> None:
    """Our promise: no error, no picture."""
    assert trace(value) is None
