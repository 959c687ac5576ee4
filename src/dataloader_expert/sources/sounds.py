"""Decoding of audio: WAV of plain samples and of telephone calls here, other codecs with the extra ``audio``."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Iterable
from typing import Any

from dataloader_expert.errors import RequestError, Unreadable
from dataloader_expert.sources.base import Field
from dataloader_expert.sources.magic import guess_text, sniff


def decode_audio(data: bytes, name: str, problems: list[Unreadable] | None = None) -> tuple[Any, int]:
    """Samples as stored, shape ``[frames, channels]``, and the rate in Hz.

    PCM keeps its integers (8-bit unsigned, 16, 24 in the upper bits of int32, 32), float WAV its floats; A-law and mu-law give int16, other
    codecs float32.

    Args:
        problems: receives oddities that do not prevent reading.

    Raises:
        Unreadable: if header and data disagree or the data cannot be decoded.
        RequestError: ``extra-missing`` for a codec that needs the extra.
    """
    if not data:
        raise Unreadable("empty-file", "0 bytes", file=name)
    if sniff(data[:512]) == "audio/wav":
        return _wav(data, name, [] if problems is None else problems)
    return _by_library(data, name, "is not WAV")


def _by_library(data: bytes, name: str, what: str) -> tuple[Any, int]:
    """The samples as float32 and the rate; ``what`` the file is, where the library is missing."""
    try:
        import soundfile
    except ImportError:
        raise RequestError(
            "extra-missing", f"{name} {what}; pip install 'dataloader-expert[audio]' reads other codecs"
        ) from None
    try:
        samples, rate = soundfile.read(io.BytesIO(data), dtype="float32", always_2d=True)
    except Exception as e:  # libsndfile raises many kinds of RuntimeError
        if guess_text(data[:512]) is not None:
            raise Unreadable("not-the-format", "is not audio: it contains text", file=name) from None
        said = str(e).partition(">: ")[2] or str(e)  # behind the name of the object that it was read from
        if "regular file" in said:  # what libsndfile says of bytes without a frame
            said = "it holds no whole frame of audio, as if it was cut off"
        raise Unreadable("unreadable", f"does not decode: {said[:160]}", file=name) from None
    return samples, int(rate)


def sound_field(name: str, some: Iterable[tuple[str, Callable[[str], bytes]]]) -> Field:
    """The field of recordings, as some of them are; ``some``: paths, each with what reads it."""
    dtypes, channels = set[str](), list[int]()
    for path, read in some:
        try:
            samples, _ = decode_audio(read(path), path)
        except Unreadable:
            continue  # the scan reports it, with its location
        dtypes.add(str(samples.dtype))
        channels.append(samples.shape[1])
    dtype = dtypes.pop() if len(dtypes) == 1 else "float32" if dtypes else "int16"
    return Field(name, "audio", dtype, (None, (channels or [1])[0] if len({*channels}) < 2 else None))


def encoded(samples: Any, dtype: Any) -> Any:
    """The same sound with samples of this dtype: floats reach from -1 to 1, whole numbers as far as their bits do."""
    import numpy as np

    wanted = np.dtype(dtype)
    if samples.dtype == wanted:
        return samples
    if samples.dtype.kind != "f":
        middle = 128 if samples.dtype == np.uint8 else 0
        samples = (samples.astype(np.float64) - middle) / (128 if middle else -float(np.iinfo(samples.dtype).min))
    if wanted.kind == "f":
        return samples.astype(wanted)
    limits, middle = np.iinfo(wanted), 128 if wanted == np.uint8 else 0
    return np.clip(np.rint(samples * (limits.max - middle + 1.0)) + middle, limits.min, limits.max).astype(wanted)


def _mu_law() -> Any:
    """The sample that each byte of mu-law stands for, int16 [256]."""
    import numpy as np

    byte = ~np.arange(256) & 0xFF
    size = ((((byte & 15) << 3) + 0x84) << (byte >> 4 & 7)) - 0x84
    return np.where(byte & 0x80, -size, size).astype(np.int16)


def _a_law() -> Any:
    """The sample that each byte of A-law stands for, int16 [256]."""
    import numpy as np

    byte = np.arange(256) ^ 0x55
    power, size = byte >> 4 & 7, ((byte & 15) << 4) + 8
    size = np.where(power > 0, size + 0x100, size) << np.maximum(power - 1, 0)
    return np.where(byte & 0x80, size, -size).astype(np.int16)


COMPANDED = {6: _a_law, 7: _mu_law}
"""WAV's codecs of telephone calls: a byte a sample."""
KNOWN = {1, 3, *COMPANDED}


def _wav(data: bytes, name: str, problems: list[Unreadable]) -> tuple[Any, int]:
    import numpy as np

    if data[:4] not in (b"RIFF", b"RF64"):
        raise Unreadable("header-mismatch", f"begins with {data[:4]!r}, not with RIFF", file=name)
    promised = int.from_bytes(data[4:8], "little") + 8
    at, form, body = 12, None, None
    while at + 8 <= len(data):
        if not data[at : at + 4].isascii() or not data[at : at + 4].decode("latin-1").isprintable():
            problems.append(Unreadable("trailing-bytes", f"{len(data) - at} bytes that are not a chunk", file=name))
            break
        kind, size = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "little")
        if kind == b"fmt ":
            form = data[at + 8 : at + 8 + size]
        elif kind == b"data":
            if at + 8 + size > len(data):
                raise Unreadable(
                    "truncated",
                    f"the header declares {size} bytes of audio; {len(data) - at - 8} are present",
                    file=name,
                )
            body = data[at + 8 : at + 8 + size]
        at += 8 + size + (size & 1)
    if body is not None and promised < at - 1 and promised != 8:
        text = f"the RIFF header ends the audio after {promised} of {len(data)} bytes"
        problems.append(Unreadable("trailing-bytes", text, file=name))
    if form is None or len(form) < 16 or body is None:
        raise Unreadable("unreadable", "no format or data chunk", file=name)
    tag, channels, rate, _, align, bits = struct.unpack("<HHIIHH", form[:16])
    if tag == 0xFFFE and len(form) >= 26:
        tag = struct.unpack("<H", form[24:26])[0]
    if tag not in KNOWN:
        return _by_library(data, name, f"is WAV of codec {tag}")
    if not channels or not rate or not bits or align != channels * ((bits + 7) // 8):
        raise Unreadable("header-mismatch", f"{channels} channels, {rate} Hz, {bits} bits, align {align}", file=name)
    if len(body) % align:
        raise Unreadable("truncated", "the last frame is incomplete", file=name)
    kinds = {(1, 8): "u1", (1, 16): "<i2", (1, 32): "<i4", (3, 32): "<f4", (3, 64): "<f8"}
    if (tag, bits) == (1, 24):
        wide = np.zeros((len(body) // 3, 4), "u1")
        wide[:, 1:] = np.frombuffer(body, "u1").reshape(-1, 3)
        samples = wide.view("<i4")[:, 0]
    elif tag in COMPANDED and bits == 8:
        samples = COMPANDED[tag]()[np.frombuffer(body, "u1")]
    elif (tag, bits) in kinds:
        samples = np.frombuffer(body, kinds[tag, bits])
    else:
        raise Unreadable("unreadable", f"WAV codec {tag} with {bits} bits is not supported", file=name)
    return samples.reshape(-1, channels), rate
