"""Whole data sets compared with peers, each run in a fresh process from start to result, in turn.

``python -m benchmarks.peers tables|arrays|images|lines|sounds|shards [--rounds N] [--seed N]``

- ``tables``: 3,000,000 x 20 Parquet: ``dataloader-expert characterize`` against DuckDB's ``SUMMARIZE`` and polars' ``describe``.
- ``arrays``: 10,000 NPZ files: ``dataloader-expert check`` against ``np.load`` of each array.
- ``images``: 10,000 JPEGs and 300 copies (equal, re-encoded, resized; 100 each): ``dataloader-expert check`` against CleanVision's
  ``find_issues`` (with one process and with its default), and against reading and fully decoding the same files with Pillow.
- ``lines``: 500,000 JSON lines: ``dataloader-expert check`` against polars' ``read_ndjson`` and ``json.loads`` of each line.
- ``sounds``: 4,000 WAV files of a second: ``dataloader-expert check`` against ``soundfile.read`` of each.
- ``shards``: 10 tars of 1,000 JPEGs and labels: ``dataloader-expert check`` against ``tarfile`` and Pillow's full decode.

Reported are wall and CPU seconds of all processes, and the resident memory of the largest; ratios are medians over the rounds.
The peers are installed into an environment of their own below ``benchmarks/.cache``. A few minutes each.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import CACHE, command, keep

ROWS, COLUMNS, FILES = 3_000_000, 20, 4
ARRAYS, PICTURES, COPIES = 10_000, 10_000, 100
LINES, SOUNDS = 500_000, 4_000
PEERS = ("duckdb", "polars", "cleanvision")
DUCKDB = "import duckdb, sys; print(len(duckdb.sql(f\"SUMMARIZE SELECT * FROM '{sys.argv[1]}/*.parquet'\").fetchall()))"
POLARS = "import polars, sys; print(polars.read_parquet(sys.argv[1] + '/*.parquet').describe().shape)"
NPLOAD = """
import sys, pathlib, numpy as np
for path in sorted(pathlib.Path(sys.argv[1]).rglob('*.npz')):
    with np.load(path) as held:
        for name in held.files:
            held[name]
"""
CLEANVISION = """
import sys, warnings
warnings.filterwarnings('ignore')
from cleanvision import Imagelab
if __name__ == '__main__':
    lab = Imagelab(data_path=sys.argv[1], verbose=False)
    lab.find_issues(n_jobs=int(sys.argv[2]) or None, verbose=False)
    lab.issues.to_json(sys.argv[3])
"""
DECODE = """
import sys, pathlib
from PIL import Image
for path in sorted(pathlib.Path(sys.argv[1]).rglob('*.jpg')):
    with Image.open(path) as image:
        image.load()
"""
NDJSON = "import polars, sys; print(polars.read_ndjson(sys.argv[1] + '/*.jsonl').shape)"
LOADS = """
import json, pathlib, sys
for path in sorted(pathlib.Path(sys.argv[1]).glob('*.jsonl')):
    with open(path, encoding='utf-8') as lines:
        for line in lines:
            json.loads(line)
"""
SOUNDFILE = """
import pathlib, soundfile, sys
for path in sorted(pathlib.Path(sys.argv[1]).rglob('*.wav')):
    soundfile.read(path)
"""
TARFILE = """
import pathlib, sys, tarfile
from PIL import Image
for path in sorted(pathlib.Path(sys.argv[1]).glob('*.tar')):
    with tarfile.open(path) as shard:
        for member in shard:
            data = shard.extractfile(member)
            if member.name.endswith('.jpg'):
                Image.open(data).load()
            else:
                data.read()
"""


def peers() -> str:
    """The interpreter of the peers' environment, made on the first call."""
    place = CACHE / "peers"
    python = place / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    have = subprocess.run([str(python), "-c", "import " + ", ".join(PEERS)], capture_output=True)
    if have.returncode:
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PEERS], check=True)
    return str(python)


def timed(arguments: list[str]) -> dict[str, float]:
    """Wall and CPU seconds and MiB of one process and what it started."""
    begun = time.perf_counter()
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        said = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):  # 1: the data did not pass
        raise SystemExit(f"{arguments[0]} ended with {process.returncode}: {said.decode(errors='replace')[-2000:]}")
    wall = time.perf_counter() - begun
    return {"wall_s": wall, "cpu_s": usage.ru_utime + usage.ru_stime, "mib": usage.ru_maxrss / 1024}


def tables(folder: Path, seed: int) -> Path:
    """Numbers of several shapes, whole numbers, categories, texts, times and gaps."""
    import pyarrow as pa
    from pyarrow import parquet

    rng = np.random.default_rng(seed)
    for part in range(FILES):
        n = ROWS // FILES
        columns: dict[str, Any] = {f"normal_{i}": rng.normal(i, 1 + i, n) for i in range(5)}
        columns |= {f"skewed_{i}": rng.lognormal(0, 1 + i / 4, n).astype(np.float32) for i in range(3)}
        columns |= {f"whole_{i}": rng.integers(0, 10 ** (i + 1), n) for i in range(5)}
        columns |= {
            f"category_{i}": np.array([f"c{k}" for k in range(5 * (i + 1))])[rng.integers(0, 5 * (i + 1), n)]
            for i in range(2)
        }
        columns["flag"] = rng.random(n) < 0.3
        columns["moment"] = np.datetime64("2020-01-01") + rng.integers(0, 10**8, n).astype("timedelta64[s]")
        columns["gaps"] = pa.array(rng.normal(0, 1, n), mask=rng.random(n) < 0.1)
        columns["constant"] = np.ones(n)
        columns["code"] = rng.integers(0, 1 << 40, n)
        parquet.write_table(pa.table(columns), folder / f"part-{part}.parquet")
    return folder


def arrays(folder: Path, seed: int) -> Path:
    rng = np.random.default_rng(seed)
    for i in range(ARRAYS):
        inside = folder / f"{i % 10}"
        inside.mkdir(exist_ok=True)
        np.savez(inside / f"{i:05d}.npz", x=rng.normal(0, 1, (64, 64)).astype(np.float32), y=np.int64(i % 10))
    return folder


def images(folder: Path, seed: int) -> Path:
    """Pictures of random blots of 256 x 256, each unlike the others, and copies of some."""
    from PIL import Image, ImageFilter

    rng = np.random.default_rng(seed)
    for i in range(PICTURES):
        small = rng.integers(0, 256, (12, 12, 3), dtype=np.uint8)
        image = Image.fromarray(small).resize((256, 256), Image.Resampling.BICUBIC)
        grain = rng.normal(0, 8, (256, 256, 1))
        image = Image.fromarray(np.clip(np.asarray(image) + grain, 0, 255).astype(np.uint8))
        inside = folder / f"{i % 10}"
        inside.mkdir(exist_ok=True)
        path = inside / f"{i:05d}.jpg"
        image.filter(ImageFilter.SMOOTH).save(path, quality=90)
    for i in range(COPIES):
        source = folder / f"{i % 10}" / f"{i:05d}.jpg"
        (folder / f"{i % 10}" / f"equal-{i:05d}.jpg").write_bytes(source.read_bytes())
        image = Image.open(io.BytesIO((folder / f"{i % 10}" / f"{i + 1000:05d}.jpg").read_bytes()))
        image.save(folder / f"{i % 10}" / f"again-{i + 1000:05d}.jpg", quality=60)
        image = Image.open(io.BytesIO((folder / f"{i % 10}" / f"{i + 2000:05d}.jpg").read_bytes()))
        image.resize((192, 192)).save(folder / f"{i % 10}" / f"small-{i + 2000:05d}.jpg", quality=90)
    return folder


def lines(folder: Path, seed: int) -> Path:
    rng = np.random.default_rng(seed)
    words = [f"word{i}" for i in range(2000)]
    for part in range(FILES):
        with (folder / f"part-{part}.jsonl").open("w", encoding="utf-8") as out:
            for i in range(LINES // FILES):
                text = " ".join(words[k] for k in rng.integers(0, len(words), 12))
                row = {"id": part * LINES + i, "text": text, "score": float(rng.normal()), "label": f"c{i % 5}"}
                out.write(json.dumps(row) + "\n")
    return folder


def sounds(folder: Path, seed: int) -> Path:
    import wave

    rng = np.random.default_rng(seed)
    for i in range(SOUNDS):
        inside = folder / f"{i % 10}"
        inside.mkdir(exist_ok=True)
        with wave.open(str(inside / f"{i:05d}.wav"), "wb") as out:
            out.setnchannels(1)
            out.setsampwidth(2)
            out.setframerate(16_000)
            out.writeframes(rng.normal(0, 3000, 16_000).astype("<i2").tobytes())
    return folder


def shards(folder: Path, seed: int) -> Path:
    import tarfile

    from PIL import Image

    rng = np.random.default_rng(seed)
    for part in range(10):
        with tarfile.open(folder / f"{part:03d}.tar", "w") as shard:
            for i in range(1000):
                small = Image.fromarray(rng.integers(0, 256, (12, 12, 3), dtype=np.uint8))
                held = io.BytesIO()
                small.resize((256, 256), Image.Resampling.BICUBIC).save(held, "JPEG", quality=90)
                for suffix, data in (("jpg", held.getvalue()), ("cls", str(i % 10).encode())):
                    member = tarfile.TarInfo(f"{part:03d}{i:05d}.{suffix}")
                    member.size = len(data)
                    shard.addfile(member, io.BytesIO(data))
    return folder


MADE: dict[str, Callable[[Path, int], Path]] = {
    "tables": tables, "arrays": arrays, "images": images, "lines": lines, "sounds": sounds, "shards": shards,
}  # fmt: skip


def made(part: str, seed: int) -> Path:
    """The folder with these data, made on the first call."""
    folder = CACHE / f"peers-{part}-{seed}"
    if not folder.exists():
        partial = folder.with_suffix(".partial")
        partial.mkdir(parents=True)
        MADE[part](partial, seed).rename(folder)
    return folder


def runs(part: str, folder: Path) -> dict[str, list[str]]:
    """The commands to compare; ours first."""
    ours = command()
    if part == "tables":
        python = peers()
        return {
            "ours": [ours, "characterize", str(folder)],
            "duckdb": [python, "-c", DUCKDB, str(folder)],
            "polars": [python, "-c", POLARS, str(folder)],
        }
    if part == "arrays":
        return {"ours": [ours, "check", str(folder)], "np.load": [sys.executable, "-c", NPLOAD, str(folder)]}
    if part == "lines":
        return {
            "ours": [ours, "check", str(folder)],
            "polars": [peers(), "-c", NDJSON, str(folder)],
            "json.loads": [sys.executable, "-c", LOADS, str(folder)],
        }
    if part == "sounds":
        return {"ours": [ours, "check", str(folder)], "soundfile": [sys.executable, "-c", SOUNDFILE, str(folder)]}
    if part == "shards":
        return {"ours": [ours, "check", str(folder)], "tarfile": [sys.executable, "-c", TARFILE, str(folder)]}
    python, script = peers(), CACHE / "cleanvision_run.py"
    script.write_text(CLEANVISION)
    told = str(CACHE / "cleanvision.json")
    return {
        "ours": [ours, "check", str(folder)],
        "cleanvision": [python, str(script), str(folder), "0", told],
        "cleanvision, one process": [python, str(script), str(folder), "1", told],
        "decode": [sys.executable, "-c", DECODE, str(folder)],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=list(MADE))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    commands = runs(given.part, made(given.part, given.seed))
    for arguments in commands.values():
        timed(arguments)  # the files are in the page cache from now on
    found: dict[str, list[dict[str, float]]] = {name: [] for name in commands}
    for _ in range(given.rounds):
        for name, arguments in commands.items():
            found[name].append(timed(arguments))
    for name, rounds in found.items():
        wall, cpu, mib = (statistics.median(r[k] for r in rounds) for k in ("wall_s", "cpu_s", "mib"))
        over = {
            k: statistics.median(r[k] / o[k] for r, o in zip(rounds, found["ours"], strict=True))
            for k in ("wall_s", "cpu_s")
        }
        print(
            f"{name:26} {wall:7.2f} s  CPU {cpu:7.2f} s  {mib:6.0f} MiB  over ours: wall {over['wall_s']:.2f}, CPU {over['cpu_s']:.2f}"
        )
    keep("peers", {"part": given.part, "seed": given.seed, "runs": found, "complete": given.rounds >= 3})
    print(json.dumps({"kept": f"benchmarks/results/peers.jsonl, {given.part}"}))


if __name__ == "__main__":
    main()
