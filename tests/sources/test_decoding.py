"""Images are decoded strictly, by whatever reads them fastest, and the same wherever their pixels lie."""

from __future__ import annotations

import importlib
import io
import struct
import sys
from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image

from dataloader_expert.checks.common.fingerprint import digest
from dataloader_expert.checks.common.picture_hashes import sampled, thumb
from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.pictures import as_grey, decode_image, pixels_of

MODES = ("RGB", "L", "CMYK")


def jpeg(mode: str = "RGB", **options: object) -> bytes:
    out = io.BytesIO()
    pixels = np.random.default_rng().integers(0, 256, (6, 8, 3), np.uint8)
    image = Image.fromarray(np.kron(pixels, np.ones((9, 7, 1), np.uint8))).convert(mode)
    image.save(out, "JPEG", **options)
    return out.getvalue()


def with_segment(data: bytes, marker: int, body: bytes) -> bytes:
    """The file with a segment before its first."""
    return data[:2] + bytes([0xFF, marker]) + struct.pack(">H", len(body) + 2) + body + data[2:]


@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"subsampling": 0}, {"keep_rgb": True}], ids=str)
@pytest.mark.parametrize("mode", MODES)
def test_the_pixels_are_those_that_pillow_decodes(mode: str, options: dict[str, object]) -> None:
    if mode != "RGB" and options:
        options = {"progressive": True}
    data = jpeg(mode, **options)
    ours, theirs = decode_image(data, "a.jpg"), Image.open(io.BytesIO(data))
    assert (ours.mode, ours.size, ours.tobytes()) == (theirs.mode, theirs.size, theirs.tobytes())


@pytest.mark.parametrize("mode", MODES)
def test_what_an_image_is_does_not_depend_on_where_its_pixels_lie(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With Arrow loaded, pixels are shared with it; without it, or with a Pillow that cannot, they are copied."""
    data = jpeg(mode)

    def seen() -> list[object]:
        image = decode_image(data, "a.jpg")
        some = np.array(sampled(image)).tolist()  # None of one without colour
        return [digest(image), thumb(image).tolist(), pixels_of(as_grey(image)).tolist(), some, image.tobytes()]

    importlib.import_module("pyarrow")
    shared = seen()
    # the decision rests on the version and on what is loaded, and one environment has one of each: both are said here
    monkeypatch.setattr("PIL.__version__", "12.3.0")
    older = seen()
    monkeypatch.undo()
    monkeypatch.delitem(sys.modules, "pyarrow")
    assert shared == older == seen()
    assert digest(decode_image(data, "a.jpg")) == digest(Image.open(io.BytesIO(data)))


@pytest.mark.parametrize(
    "damaged",
    [
        pytest.param(lambda d: with_segment(d, 0xE2, b"ICC_PROFILE\0"), id="a profile without a number"),
        pytest.param(lambda d: with_segment(d, 0xEE, b"Adobe"), id="a short segment of Adobe's"),
        pytest.param(lambda d: d[:2] + b"\xff\x01" + d[2:], id="a stray marker"),
    ],
)
def test_what_pillow_does_not_open_is_unreadable(damaged: Callable[[bytes], bytes]) -> None:
    """A training script reads with Pillow: that another library can is no help."""
    data = damaged(jpeg())
    with pytest.raises(Exception, match=r"identify"):
        Image.open(io.BytesIO(data)).load()
    with pytest.raises(Unreadable) as problem:
        decode_image(data, "a.jpg")
    assert problem.value.code == "unreadable"


def test_a_header_that_ends_early_is_told_in_words() -> None:
    data = jpeg()
    for end in range(12, data.index(b"\xff\xda"), 7):
        with pytest.raises(Unreadable, match=r"does not decode: [A-Z][a-z]+ [A-Za-z]+") as problem:
            decode_image(data[:end], "a.jpg")
        assert problem.value.code in ("truncated", "unreadable") and " at 0x" not in str(problem.value)


@pytest.mark.parametrize("how", ["Exif", "XMP"])
def test_tags_that_turn_an_image_are_kept(how: str) -> None:
    if how == "Exif":
        tags = Image.Exif()
        tags[274] = 6
        data = jpeg(exif=tags)
    else:
        body = (
            b'http://ns.adobe.com/xap/1.0/\0<x:xmpmeta xmlns:x="adobe:ns:meta/"><r tiff:Orientation="6"/></x:xmpmeta>'
        )
        data = with_segment(jpeg(), 0xE1, body)
    assert decode_image(data, "a.jpg").getexif().get(274) == 6


def test_what_only_has_a_mode_is_no_image() -> None:
    class Settings:
        mode = "RGB"

        def __str__(self) -> str:
            return "settings"

    assert digest(Settings()) == digest("settings")
