"""How fast an answer comes: a concise ``characterize_dataset`` of each shared data set, and of 10,000 images.

``python -m benchmarks.answers`` starts a fresh server, warms its measuring process on a data set that is not timed, then
times one call for each data set, none of which this server has seen. The 10,000 JPEGs (256 x 256, about 25 KB, 50 of them
cut off) are generated once in a cache folder. Their pixel moments are compared with a full decode by Pillow and numpy, and
the 50 cut files with those that the answer names; neither is timed. The first call of a fresh server is timed as well.
"""

from __future__ import annotations

import argparse
import asyncio
import io
from pathlib import Path
from typing import Any

from benchmarks.common import CACHE, client, keep, last, median, shared_data, timed_call

SETS = (
    "images/cifar10_jpg",
    "images/clothing_cc0",
    "reenc/cifar10_wds",
    "reenc/cifar10_parquet",
    "reenc/cifar10_hf",
    "reenc/cifar10_npz",
    "arrays/digits/npz",
    "arrays/digits/npy",
    "arrays/digits/pt",
    "arrays/digits/safetensors",
    "arrays/digits/csv",
    "arrays/digits/parquet",
    "arrays/digits/jsonl",
    "tabular/titanic/titanic.csv",
    "tabular/titanic/titanic.parquet",
    "tabular/penguins/penguins.csv",
    "tabular/penguins/penguins_raw.csv",
    "tabular/taxis/taxis.csv",
    "tabular/taxis/parquet",
    "tabular/diamonds",
    "text/sms_spam/sms.tsv",
    "text/sms_spam/jsonl",
    "text/gsm8k_test",
    "text/tinyshakespeare",
    "embeddings/sms_lsa32/npz",
    "embeddings/sms_lsa32/parquet",
    "embeddings/sms_lsa32/*.npy",
    "audio/fsdd",
    "sequences/japanese_vowels/npy",
    "sequences/japanese_vowels/npz_ragged",
    "sequences/japanese_vowels/parquet",
    "odd/pillow_tests",
    "odd/exif_orientation",
)
COUNT, CUT = 10_000, 50


def make_images(folder: Path) -> Path:
    """The 10,000 JPEGs in ten class folders, made once; every 200th is cut to 60 %."""
    import numpy as np
    from PIL import Image

    target = folder / "images10k"
    if (target / "done").exists():
        return target / "data"
    rng = np.random.default_rng(0)
    for i in range(COUNT):
        small = rng.integers(0, 256, (16, 16, 3), dtype=np.uint8)
        image = Image.fromarray(small).resize((256, 256), Image.Resampling.BICUBIC)
        noisy = np.asarray(image, np.int16) + rng.integers(-14, 15, (256, 256, 3), dtype=np.int16)
        buffer = io.BytesIO()
        Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(buffer, "JPEG", quality=85)
        data = buffer.getvalue()
        if i % (COUNT // CUT) == 7:
            data = data[: int(len(data) * 0.6)]
        path = target / "data" / f"class{i % 10}" / f"{i:05d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (target / "done").touch()
    return target / "data"


def full_moments(folder: Path) -> dict[str, tuple[float, float]]:
    """Mean and standard deviation per channel by a full decode of every whole file."""
    import numpy as np
    from PIL import Image

    counts = np.zeros((3, 256), np.int64)
    for path in sorted(folder.rglob("*.jpg")):
        try:
            with Image.open(path) as image:
                pixels = np.asarray(image.convert("RGB"))
        except OSError:
            continue
        for c in range(3):
            counts[c] += np.bincount(pixels[..., c].reshape(-1), minlength=256)
    values = np.arange(256)
    out = {}
    for name, row in zip(("red", "green", "blue"), counts, strict=True):
        mean = float((row * values).sum() / row.sum())
        out[name] = (mean, float(np.sqrt((row * (values - mean) ** 2).sum() / row.sum())))
    return out


async def run_sets(data: Path) -> dict[str, Any]:
    """One fresh server, warmed elsewhere, one call per set."""
    warm = CACHE / "warm"
    warm.mkdir(parents=True, exist_ok=True)
    (warm / "tiny.csv").write_text("a,b\n1,2\n3,4\n5,6\n")
    times, complete = {}, {}
    async with client(data, warm) as opened:
        await timed_call(opened, "characterize_dataset", {"source": str(warm / "tiny.csv")})
        for name in SETS:
            spent, result = await timed_call(opened, "characterize_dataset", {"source": str(data / name)})
            times[name], complete[name] = round(spent, 3), result["coverage"]["complete"]
    return {"seconds": times, "complete_coverage": complete}


async def run_images(folder: Path) -> dict[str, Any]:
    warm = CACHE / "warm"
    async with client(folder, warm) as opened:
        await timed_call(opened, "characterize_dataset", {"source": str(warm / "tiny.csv")})
        spent, result = await timed_call(opened, "characterize_dataset", {"source": str(folder)})
    truncated = next((f["count"] for f in result["findings"] if f["code"] == "truncated"), 0)
    moments = {c: (s["mean"], s["std"]) for c, s in result["statistics"]["image"].items()}
    return {
        "seconds": round(spent, 3),
        "read": result["coverage"]["samples_read"],
        "truncated": truncated,
        "moments": moments,
    }


async def run_first(data: Path) -> float:
    async with client(data) as opened:
        spent, _ = await timed_call(opened, "characterize_dataset", {"source": str(data / SETS[0])})
    return round(spent, 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    folder = make_images(CACHE)
    truth = full_moments(folder)
    data = shared_data()
    for _ in range(given.runs):
        if data is not None:
            keep(
                "answers-sets",
                {**asyncio.run(run_sets(data)), "first_call": asyncio.run(run_first(data)), "complete": True},
            )
        images = asyncio.run(run_images(folder))
        off = max(abs(images["moments"][c][i] / truth[c][i] - 1) for c in truth for i in (0, 1))
        keep("answers-images", {**images, "largest_moment_error": off, "complete": True})
    show()


def show() -> None:
    """The table of the last three complete runs."""
    sets, images = last("answers-sets"), last("answers-images")
    if sets:
        names = sets[-1]["seconds"]
        print(f"{'set':44} {'s':>6}  complete")
        for name in names:
            times = [r["seconds"][name] for r in sets if name in r["seconds"]]
            print(f"{name:44} {median(times):6.2f}  {sets[-1]['complete_coverage'][name]}")
        print(
            f"slowest: {max(median([r['seconds'][n] for r in sets if n in r['seconds']]) for n in names):.2f} s; ",
            end="",
        )
        print(f"first call of a fresh server: {median([r['first_call'] for r in sets]):.2f} s")
    if images:
        share = median([r["read"] for r in images]) / (COUNT - CUT)
        print(
            f"10,000 images: {median([r['seconds'] for r in images]):.2f} s, {share:.1%} of the whole ones decoded, ",
            end="",
        )
        print(f"{median([r['truncated'] for r in images]):.0f} of {CUT} cut files found, ", end="")
        print(f"moments off by {max(r['largest_moment_error'] for r in images):.1e}")


if __name__ == "__main__":
    main()
