"""Sound files as other encoders and settings write them: whatever is found in them is a false alarm.

Each builder fills a folder with files that differ in nothing but their encoding; contents are distinct.
"""

from __future__ import annotations

import csv
import io
import json
import struct
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

Build = Callable[[Path], None]
SETS: dict[str, Build] = {}
SEED = 47


def made(name: str) -> Callable[[Build], Build]:
    def keep(build: Build) -> Build:
        SETS[name] = build
        return build

    return keep


def pixels(n: int, height: int = 64, width: int = 64, margin: int = 0) -> Iterator[Any]:
    """Distinct smooth pictures, RGB; ``margin`` pixels of white around them."""
    rng = np.random.default_rng([SEED, height, width, margin])
    for _ in range(n):
        rows, columns = np.linspace(0, 5, height), np.linspace(0, 5, width)
        coarse = rng.integers(0, 256, (7, 7, 3)).astype(np.float64)
        i, j = rows.astype(int), columns.astype(int)
        a, b = (rows - i)[:, None, None], (columns - j)[None, :, None]
        top = coarse[i][:, j] * (1 - b) + coarse[i][:, j + 1] * b
        below = coarse[i + 1][:, j] * (1 - b) + coarse[i + 1][:, j + 1] * b
        picture = (top * (1 - a) + below * a).astype(np.uint8)
        yield np.pad(picture, ((margin, margin), (margin, margin), (0, 0)), constant_values=255)


def jpegs(options: list[dict[str, Any]], mode: str = "RGB", **shape: int) -> Build:
    def build(folder: Path) -> None:
        from PIL import Image

        for i, (picture, option) in enumerate(zip(pixels(len(options), **shape), options, strict=True)):
            Image.fromarray(picture).convert(mode).save(folder / f"{i:03}.jpg", **option)

    return build


SAMPLINGS: list[Any] = [0, 1, 2, "4:1:1"]
TABLE = [[max(1, (i * 7) % 90) for i in range(64)], [max(1, (i * 5) % 90) for i in range(64)]]
SETS["jpeg qualities"] = jpegs([{"quality": q} for q in (5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 100)])
SETS["jpeg subsamplings"] = jpegs([{"subsampling": s, "quality": q} for s in SAMPLINGS for q in (40, 75, 98)])
SETS["jpeg progressive"] = jpegs(
    [{"progressive": True, "subsampling": s, "quality": q} for s in SAMPLINGS for q in (40, 75, 98)]
)
SETS["jpeg progressive, white margins"] = jpegs(
    [{"progressive": True, "quality": 70 + i} for i in range(20)], margin=64
)
SETS["jpeg white margins"] = jpegs([{"quality": 70 + i} for i in range(20)], margin=64)
SETS["jpeg optimised"] = jpegs([{"optimize": True, "quality": 50 + 5 * i} for i in range(8)])
SETS["jpeg restart markers"] = jpegs(
    [{"restart_marker_blocks": n, "progressive": p} for n in (1, 3, 8) for p in (False, True)]
    + [{"restart_marker_rows": n, "progressive": p} for n in (1, 2) for p in (False, True)]
)
SETS["jpeg own tables"] = jpegs([{"qtables": TABLE, "subsampling": s} for s in SAMPLINGS])
SETS["jpeg grey"] = jpegs([{"quality": 40 + 6 * i, "progressive": i % 2 == 0} for i in range(8)], "L")
SETS["jpeg inks"] = jpegs([{"quality": 60 + 4 * i, "progressive": i % 2 == 0} for i in range(8)], "CMYK")
SETS["jpeg inks, subsampled"] = jpegs([{"subsampling": s, "quality": 80} for s in SAMPLINGS for _ in range(2)], "CMYK")
SETS["jpeg kept as RGB"] = jpegs([{"keep_rgb": True, "quality": 60 + 5 * i} for i in range(6)])
SETS["jpeg with comments"] = jpegs([{"comment": b"\xff\xd9 not the end", "dpi": (72 + i, 72)} for i in range(6)])
SETS["jpeg with profiles"] = jpegs([{"icc_profile": bytes(200 + i)} for i in range(6)])
SETS["jpeg 17 x 33"] = jpegs(
    [{"subsampling": s, "progressive": p} for s in SAMPLINGS for p in (False, True)], height=33, width=17
)


@made("jpeg thumbnails, padding and fill bytes")
def odd_jpegs(folder: Path) -> None:
    """An EXIF thumbnail with an end marker of its own; zeros after the end; fill bytes before a marker."""
    from PIL import Image

    exif = Image.Exif()
    exif[270] = "x\xff\xd9y"
    for i, picture in enumerate(pixels(9, 48, 48)):
        buffer = io.BytesIO()
        Image.fromarray(picture).save(buffer, "JPEG", quality=80, exif=exif, progressive=i % 2 == 0)
        data = buffer.getvalue()
        if i % 3 == 1:
            data += bytes(37 * i)
        if i % 3 == 2:
            at = data.index(b"\xff\xdb")
            data = data[:at] + b"\xff\xff\xff" + data[at:]
        (folder / f"{i}.jpg").write_bytes(data)


def saved(mode: str, suffix: str, options: list[dict[str, Any]]) -> Build:
    def build(folder: Path) -> None:
        from PIL import Image

        for i, (picture, option) in enumerate(zip(pixels(len(options)), options, strict=True)):
            image = Image.fromarray(picture)
            if mode == "I;16":
                image = Image.fromarray(picture[:, :, 0].astype(np.uint16) * 257)
            elif mode == "LA":
                image = image.convert("L").convert("LA")
            else:
                image = image.convert(mode)
            image.save(folder / f"{i:02}{suffix}", **option)

    return build


for _mode in ("L", "LA", "P", "RGB", "RGBA", "I;16"):
    SETS[f"png {_mode}"] = saved(_mode, ".png", [{"compress_level": i, "optimize": i == 9} for i in range(0, 10, 2)])
SETS["png palette with transparency"] = saved("P", ".png", [{"transparency": i} for i in range(4)])
SETS["webp lossy"] = saved("RGB", ".webp", [{"quality": 20 * i + 10, "method": i} for i in range(5)])
SETS["webp lossless"] = saved("RGB", ".webp", [{"lossless": True, "quality": 25 * i} for i in range(4)])
SETS["webp with alpha"] = saved("RGBA", ".webp", [{"quality": 25 * i + 5, "exact": True} for i in range(4)])
SETS["gif"] = saved("P", ".gif", [{"interlace": i % 2, "optimize": i > 1} for i in range(4)])
SETS["bmp"] = saved("RGB", ".bmp", [{} for _ in range(3)])
SETS["bmp grey"] = saved("L", ".bmp", [{} for _ in range(3)])
for _codec in ("raw", "tiff_lzw", "tiff_adobe_deflate", "packbits", "jpeg", "zstd"):
    SETS[f"tiff {_codec}"] = saved(
        "RGB", ".tif", [{"compression": _codec, "big_tiff": b} for b in (False, False, True)]
    )
SETS["tiff grey"] = saved(
    "L", ".tif", [{"compression": c} for c in ("raw", "tiff_lzw", "tiff_adobe_deflate", "packbits")]
)
SETS["tiff 16 bit"] = saved("I;16", ".tif", [{"compression": c} for c in ("raw", "tiff_lzw", "tiff_adobe_deflate")])


@made("gif and webp that move")
def moving(folder: Path) -> None:
    from PIL import Image

    for i, picture in enumerate(pixels(4)):
        frames = [Image.fromarray(np.roll(picture, k * 5, 0)) for k in range(3)]
        frames[0].save(folder / f"{i}.webp", save_all=True, append_images=frames[1:], duration=50)


@made("png interlaced, in several chunks")
def interlaced(folder: Path) -> None:
    """Adam7 as the PNG specification has it, the data cut into chunks, with a text chunk."""
    passes = ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    for i, picture in enumerate(pixels(4, 37, 29)):
        rows = (picture[y::dy, x::dx] for y, x, dy, dx in passes)
        raw = b"".join(b"\0" + row.tobytes() for part in rows if part.size for row in part)
        packed = zlib.compress(raw, 6)
        data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 29, 37, 8, 2, 0, 0, 1))
        data += chunk(b"tEXt", b"Comment\0IEND is not here")
        data += b"".join(chunk(b"IDAT", packed[k : k + 700]) for k in range(0, len(packed), 700))
        (folder / f"{i}.png").write_bytes(data + chunk(b"IEND", b""))


def tones(n: int, frames: int = 4000) -> Iterator[Any]:
    rng = np.random.default_rng([SEED, frames])
    for _ in range(n):
        yield np.sin(np.arange(frames) * rng.uniform(0.03, 0.5)) * rng.uniform(0.2, 0.6) + rng.normal(0, 0.01, frames)


def wav_of(samples: Any, tag: int, bits: int, extra: tuple[bytes, bytes] = (b"", b""), wide: bool = False) -> bytes:
    """A RIFF file of one channel; ``extra`` are chunks before and after the sound."""
    if tag == 3:
        body: bytes = samples.astype(f"<f{bits // 8}").tobytes()
    elif bits == 8:
        body = ((samples + 1) * 127).astype(np.uint8).tobytes()
    else:
        whole = (samples * (2 ** (bits - 1) - 1)).astype("<i4")
        body = whole.view(np.uint8).reshape(-1, 4)[:, : bits // 8].tobytes()
    form = struct.pack("<HHIIHH", 0xFFFE if wide else tag, 1, 8000, 1000 * bits, bits // 8, bits)
    if wide:
        form += struct.pack("<HHIH", 22, bits, 4, tag) + b"\0\0\0\0\x10\0\x80\0\0\xaa\0\x38\x9b\x71"
    chunks = b"WAVEfmt " + struct.pack("<I", len(form)) + form + extra[0]
    chunks += b"data" + struct.pack("<I", len(body)) + body + bytes(len(body) % 2) + extra[1]
    return b"RIFF" + struct.pack("<I", len(chunks)) + chunks


LIST = b"LIST" + struct.pack("<I", 10) + b"INFOabcdef"
ODD = b"note" + struct.pack("<I", 3) + b"abc\0"
for _name, _tag, _bits in (
    ("8", 1, 8),
    ("16", 1, 16),
    ("24", 1, 24),
    ("32", 1, 32),
    ("float", 3, 32),
    ("double", 3, 64),
):

    def _wavs(folder: Path, tag: int = _tag, bits: int = _bits) -> None:
        ways = [
            ((b"", b""), False),
            ((LIST, b""), False),
            ((b"", LIST), False),
            ((ODD, ODD), False),
            ((b"", b""), True),
        ]
        for i, (tone, (extra, wide)) in enumerate(zip(tones(len(ways)), ways, strict=True)):
            (folder / f"{i}.wav").write_bytes(wav_of(tone, tag, bits, extra, wide))

    SETS[f"wav {_name}"] = _wavs


@made("wav padded with zeros")
def padded(folder: Path) -> None:
    for i, tone in enumerate(tones(8)):
        (folder / f"{i}.wav").write_bytes(
            wav_of(np.concatenate([tone[: 1500 + 200 * i], np.zeros(2500 - 200 * i)]), 1, 16)
        )


@made("flac")
def flacs(folder: Path) -> None:
    import soundfile

    for i, tone in enumerate(tones(5)):
        soundfile.write(folder / f"{i}.flac", tone, 8000, subtype=("PCM_16", "PCM_24")[i % 2])


@made("ogg")
def oggs(folder: Path) -> None:
    import soundfile

    for i, tone in enumerate(tones(4)):
        soundfile.write(folder / f"{i}.ogg", tone, 8000)


def header(version: int, text: str, blanks: int) -> bytes:
    body = text.encode() + b" " * blanks + b"\n"
    size = struct.pack("<H" if version == 1 else "<I", len(body))
    return b"\x93NUMPY" + bytes([version, 0]) + size + body


for _kind in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "b1"):

    def _npys(folder: Path, kind: str = _kind) -> None:
        rng = np.random.default_rng([SEED, ord(kind[0]), int(kind[1])])
        for i, (order, end) in enumerate((("C", "<"), ("F", "<"), ("C", ">"))):
            drawn = rng.normal(0, 30, (9 + i, 6)) % 100
            values = (drawn > 50 if kind == "b1" else drawn).astype(
                np.dtype(kind).newbyteorder("<" if end == "<" else ">")
            )
            np.save(folder / f"{i}.npy", np.asarray(values, order=order))  # type: ignore[call-overload]  # a text it is

    SETS[f"npy {_kind}"] = _npys


@made("npy headers")
def npy_headers(folder: Path) -> None:
    rng = np.random.default_rng(SEED)
    texts = [
        "{'descr': '<f4', 'fortran_order': False, 'shape': (7, 5), }",
        "{'shape':(7,5),'fortran_order':False,'descr':'<f4'}",
    ]
    for i, (version, text, blanks) in enumerate((v, t, b) for v in (1, 2, 3) for t in texts for b in (0, 13)):
        values = rng.normal(0, 1, (7, 5)).astype("<f4")
        (folder / f"{i:02}.npy").write_bytes(header(version, text, blanks) + values.tobytes())


@made("npz stored and deflated")
def npzs(folder: Path) -> None:
    rng = np.random.default_rng(SEED)
    for i in range(6):
        save = np.savez if i % 2 else np.savez_compressed
        save(folder / f"{i}.npz", x=rng.normal(0, 1, (20, 6)).astype(np.float32), y=np.arange(20) % 2)


def table(n: int = 400) -> Any:
    """Columns of many kinds, nothing missing, nothing constant."""
    import pyarrow as pa

    rng = np.random.default_rng([SEED, n])
    when = pa.array(1_600_000_000 + rng.integers(0, 10**8, n), pa.timestamp("s"))
    return pa.table(
        {
            "x": rng.normal(0, 1, n),
            "small": pa.array(rng.integers(-99, 99, n), pa.int8()),
            "wide": pa.array(rng.integers(0, 1 << 40, n)),
            "half": pa.array(rng.normal(0, 1, n).astype(np.float16)),
            "flag": pa.array(rng.random(n) > 0.5),
            "word": pa.array(rng.choice(["red", "green", "blue"], n)),
            "text": [f"number {i} of {n} in words {rng.integers(1 << 30)}" for i in range(n)],
            "seen": when,
            "label": pa.array(np.arange(n) % 3),
        }
    )


def nested(n: int = 200) -> Any:
    import pyarrow as pa

    rng = np.random.default_rng([SEED, n, 1])
    lists = [rng.normal(0, 1, int(k)).tolist() for k in rng.integers(1, 6, n)]
    return pa.table(
        {
            "lists": pa.array(lists, pa.list_(pa.float32())),
            "fixed": pa.FixedSizeListArray.from_arrays(pa.array(rng.normal(0, 1, 4 * n)), 4),
            "label": pa.array(np.arange(n) % 2),
        }
    )


def parquets(name: str, make: Callable[[], Any], options: list[dict[str, Any]]) -> None:
    for i, option in enumerate(options):

        def build(folder: Path, option: dict[str, Any] = option) -> None:
            import pyarrow.parquet as pq

            pq.write_table(make(), folder / "a.parquet", **option)

        SETS[f"parquet {name} {i}"] = build


CODECS = ("none", "snappy", "gzip", "brotli", "lz4", "zstd")
parquets("codec", table, [{"compression": c} for c in CODECS])
parquets(
    "pages",
    table,
    [
        {"data_page_version": v, "version": f, "row_group_size": r}
        for v in ("1.0", "2.0")
        for f, r in (("2.4", 50), ("2.6", 400))
    ],
)
parquets(
    "checks",
    table,
    [{"write_page_checksum": True}, {"write_page_index": True}, {"use_dictionary": False}, {"write_statistics": False}],
)
parquets("nested", nested, [{}, {"use_dictionary": False, "compression": "zstd"}, {"data_page_version": "2.0"}])
parquets(
    "encoding",
    table,
    [
        {
            "use_dictionary": False,
            "column_encoding": {"wide": "DELTA_BINARY_PACKED", "text": "DELTA_LENGTH_BYTE_ARRAY"},
        },
        {"use_dictionary": False, "column_encoding": {"text": "DELTA_BYTE_ARRAY", "x": "BYTE_STREAM_SPLIT"}},
        {"use_dictionary": False, "column_encoding": {"flag": "RLE", "wide": "PLAIN"}},
    ],
)


def arrows(name: str, make: Callable[[], Any], options: list[tuple[bool, dict[str, Any]]], rows: int = 100) -> None:
    for i, (is_file, option) in enumerate(options):

        def build(folder: Path, is_file: bool = is_file, option: dict[str, Any] = option) -> None:
            import pyarrow as pa

            data, kind = make(), pa.ipc.IpcWriteOptions(**option)
            new = pa.ipc.new_file if is_file else pa.ipc.new_stream
            with pa.OSFile(str(folder / "a.arrow"), "wb") as to, new(to, data.schema, options=kind) as writer:
                writer.write_table(data, max_chunksize=rows)

        SETS[f"arrow {name} {i}"] = build


def categories() -> Any:

    data = table(300)
    return data.set_column(5, "word", data["word"].combine_chunks().dictionary_encode())


def views() -> Any:
    import pyarrow as pa

    data = table(300)
    data = data.set_column(6, "text", pa.array(data["text"].to_pylist(), pa.string_view()))
    return data.set_column(5, "word", data["word"].cast(pa.large_string()))


def _versions() -> list[tuple[bool, dict[str, Any]]]:
    import pyarrow as pa

    v4, v5 = pa.ipc.MetadataVersion.V4, pa.ipc.MetadataVersion.V5
    plain = [(f, {"metadata_version": v}) for f in (True, False) for v in (v4, v5)]
    packed = [(f, {"compression": c}) for f in (True, False) for c in ("lz4", "zstd")]
    return [*plain, *packed, (False, {"use_legacy_format": True, "metadata_version": v4})]


arrows("table", table, _versions())
arrows("nested", nested, _versions()[:4])
arrows(
    "categories",
    categories,
    [(True, {}), (False, {}), (False, {"emit_dictionary_deltas": True}), (True, {"compression": "lz4"})],
)
arrows("views", views, [(True, {}), (False, {"compression": "zstd"})])


def csvs(name: str, **dialect: Any) -> None:
    def build(folder: Path) -> None:
        rng = np.random.default_rng(SEED)
        words = ["red", "green", 'a "blue" one', "two\nlines", "comma, in it", "semi; in it"]
        with (folder / "a.csv").open("w", newline="", encoding=dialect.get("encoding", "utf-8")) as file:
            options = {k: v for k, v in dialect.items() if k != "encoding"}
            writer = csv.writer(file, **options)
            writer.writerow(["id_number", "x", "note", "label"])
            for i in range(120):
                writer.writerow([1000 + i, round(float(rng.normal()), 4), f"{words[i % 6]} {i}", "ab"[i % 2]])

    SETS[f"csv {name}"] = build


csvs("plain")
csvs("semicolons", delimiter=";")
csvs("tabs", delimiter="\t")
csvs("bars", delimiter="|")
csvs("unix", lineterminator="\n")
csvs("with a mark", encoding="utf-8-sig")
csvs("all quoted", quoting=csv.QUOTE_ALL)
csvs("texts quoted", quoting=csv.QUOTE_NONNUMERIC)


@made("json lines")
def json_lines(folder: Path) -> None:
    rng = np.random.default_rng(SEED)
    for k, ascii_only in enumerate((True, False)):
        lines = [
            {
                "text": f"grüße 世界 :[ number {i} {k} \u2028 {{",
                "x": float(rng.normal()),
                "tags": ["a", {"b": i}],
                "label": "xy"[i % 2],
            }
            for i in range(60)
        ]
        text = "\n".join(json.dumps(line, ensure_ascii=ascii_only) for line in lines)
        (folder / f"{k}.jsonl").write_text(text + "\n" * k, encoding="utf-8")


@made("json documents")
def json_documents(folder: Path) -> None:
    rows = [{"text": f"{'[' * 300} text {i}", "x": i / 7, "label": "xy"[i % 2]} for i in range(60)]
    (folder / "a.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")


@made("safetensors")
def safe(folder: Path) -> None:
    from safetensors.numpy import save_file

    rng = np.random.default_rng(SEED)
    for i, kind in enumerate(("float32", "float64", "float16", "int64", "int32", "int16", "int8", "uint8")):
        values = (rng.normal(0, 40, (30, 4)) % 100).astype(kind)
        split = ("train", "test")[i % 2]
        (folder / kind).mkdir()
        save_file(
            {"x": values, "y": np.arange(30) % 3}, folder / kind / f"{split}.safetensors", {"format": "np", "note": "é"}
        )


@made("pt zipped and not")
def pts(folder: Path) -> None:
    import torch

    rng = np.random.default_rng(SEED)
    for i in range(6):
        x = torch.from_numpy(rng.normal(0, 1, (40, 4)).astype(np.float32))
        torch.save({"x": x, "y": torch.arange(40) % 2}, folder / f"{i}.pt", _use_new_zipfile_serialization=i % 2 == 0)


def tars(name: str, format: int, long: bool = False, ended: bool = True) -> None:
    def build(folder: Path) -> None:
        from PIL import Image

        where = "a-rather-long-folder-name/" * 6 if long else ""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=format) as tar:
            if long:
                info = tarfile.TarInfo(where)
                info.type = tarfile.DIRTYPE
                tar.addfile(info)
            for i, picture in enumerate(pixels(8)):
                data = io.BytesIO()
                Image.fromarray(picture).save(data, "JPEG", quality=90)
                for suffix, content in (("jpg", data.getvalue()), ("cls", str(i % 2).encode())):
                    info = tarfile.TarInfo(
                        f"{where}grün{i:03}.{suffix}" if format == tarfile.PAX_FORMAT else f"{where}s{i:03}.{suffix}"
                    )
                    info.size, info.mtime = (
                        len(content),
                        1_700_000_000.25 if format == tarfile.PAX_FORMAT else 1_700_000_000,
                    )
                    tar.addfile(info, io.BytesIO(content))
        data_ = buffer.getvalue()
        (folder / "a-000.tar").write_bytes(
            data_ if ended else data_.rstrip(b"\0") + bytes(-len(data_.rstrip(b"\0")) % 512)
        )

    SETS[f"tar {name}"] = build


tars("ustar", tarfile.USTAR_FORMAT)
tars("gnu", tarfile.GNU_FORMAT, long=True)
tars("pax", tarfile.PAX_FORMAT)
tars("pax, long names", tarfile.PAX_FORMAT, long=True)
tars("without an end", tarfile.GNU_FORMAT, ended=False)
