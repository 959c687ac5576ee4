"""Defects injected into real data sets: which of them ``check_quality`` finds and locates, and what it reports for untouched files.

``python -m benchmarks.defects [--seed N] [--only FORMAT …]`` makes damaged copies of the shared data sets with the injector that
comes with them, some 40 defects per copy, and checks each with the installed command. A defect counts as found if a finding of
any code has a place in its file and, if a single row is damaged, at a sample, line or key; whether the code is the right one is
not judged here. If a copy is refused, all its defects count as missed. Not expected are defects that only a comparison with the
original shows, flipped bits that decode, and harmless oddities (``info``), for which anything above info is wrong. A false
finding is a warning or an error in a file that was not touched, with a code that the check of the original does not report.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.common import client, keep, real_data, timed_call, whole

NAME = "defects"
SOURCES = {
    "image_folder": ("images/cifar10_jpg", "images/clothing_cc0"),
    "wav": ("audio/fsdd",),
    "npz": ("reenc/cifar10_npz",),
    "npy": ("sequences/japanese_vowels/npy",),
    "parquet": ("reenc/cifar10_parquet", "tabular/diamonds"),
    "jsonl": ("text/sms_spam/jsonl", "text/gsm8k_test"),
    "csv": ("arrays/digits/csv",),
    "text": ("text/tinyshakespeare",),
    "tar": ("reenc/cifar10_wds",),
}
DEFECTS = 40
"""In each copy: a finding names twenty places at most, and of more defects some would be counted without being named."""
SHARDED = {"npz", "npy", "parquet", "jsonl", "csv", "text", "tar"}


def damaged(source: Path, out: Path, format: str, count: int, seed: int) -> dict[str, Any] | None:
    """A damaged copy and the truth about it; None where the injector cannot use the source."""
    injector = [sys.executable, str(real_data() / "corrupt.py"), str(source), str(out)]
    shards = ["--shards", "60"] if format in SHARDED else []
    done = subprocess.run(
        [*injector, "--format", format, "--n", str(count), "--seed", str(seed), *shards], capture_output=True, text=True
    )
    if done.returncode:
        print(f"{format} {source.name}: {done.stderr.strip().splitlines()[-1:]}")
        return None
    truth: dict[str, Any] = json.loads((out / "truth.json").read_text())
    return truth


def places(result: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """Severity, code and place of everything that is told."""
    return [(f["severity"], f["code"], place) for f in result.get("findings", ()) for place in f["where"]]


def found(record: dict[str, Any], told: list[tuple[str, str, dict[str, Any]]]) -> bool:
    """Whether a finding is at the defect."""
    files = {shown(p) for p in (record["path"], *(record.get("other_paths") or ())) if p}
    for _, _, place in told:
        named = {str(v) for k, v in place.items() if k in ("file", "key", "name")}
        inside = any(f == n or n.startswith(f + "/") or f.startswith(n + "/") for f in files for n in named)
        if not inside:
            continue
        if record["level"] not in ("row", "sample") or {"sample", "line", "key", "row"} & place.keys():
            return True
    return False


def shown(path: str) -> str:
    """A path as results write it."""
    from dataloader_expert.errors import escaped

    return escaped(path, 4096)


def visible(record: dict[str, Any], data: Path) -> bool:
    """Whether there is anything to see: as root, a file without permissions is read like any other."""
    if record["detect"] == "reference" or record["severity"] == "info":
        return False
    seen = " ".join(map(str, (record.get("observed") or {}).values()))
    if "bitflip" in record["kind"] and (record["detail"].get("pixels_changed") is False or "ok" in seen):
        return False  # it decodes
    if record["kind"] == "unreadable_permission":
        import os

        return not os.access(data / record["path"], os.R_OK)
    return True


async def check(source: Path, root: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    try:
        async with client(root) as opened:
            asked = {"source": str(source), "detail": "full", "budget_s": 120}
            _, found = await timed_call(opened, "check_quality", asked)
            found = await whole(opened, found)
    except* RuntimeError as e:
        leaf: BaseException = e
        while isinstance(leaf, BaseExceptionGroup):
            leaf = leaf.exceptions[0]
        found = {"refused": str(leaf)}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", nargs="*", choices=list(SOURCES), default=list(SOURCES))
    given = parser.parse_args()
    seed = time.time_ns() % (1 << 31) if given.seed is None else given.seed
    print(f"seed {seed}")
    rows = []
    for format in given.only:
        for name in SOURCES[format]:
            with tempfile.TemporaryDirectory() as folder:
                rows += one(format, real_data() / name, Path(folder), seed)
    total, missed = sum(r["asked"] for r in rows), Counter(k for r in rows for k in r["missed"])
    false = sum(len(r["false"]) for r in rows)
    print(f"{total - missed.total()} of {total} defects found and placed; false places: {false}")
    keep(NAME, {"seed": seed, "rows": rows, "complete": given.only == list(SOURCES)})


def one(format: str, source: Path, folder: Path, seed: int) -> list[dict[str, Any]]:
    """What was found of one damaged copy."""
    out = folder / "out"
    truth = damaged(source, out, format, DEFECTS, seed)
    if truth is None:
        return []
    result = asyncio.run(check(out / "data", out))
    if "refused" in result:
        print(f"{format} {source.name}: {result['refused']}")
        kinds = [r["kind"] for r in truth["defects"] if visible(r, out / "data")]
        return [
            {"format": format, "source": source.name, "asked": len(kinds), "missed": kinds, "false": [], "loud": []}
        ]
    told = places(result)
    plain = asyncio.run(check(source, source.parent))
    sound = {code for severity, code, _ in places(plain) if severity != "info"}  # what is wrong with the original
    asked = [r for r in truth["defects"] if visible(r, out / "data")]
    missed = [r for r in asked if not found(r, told)]
    touched = {shown(t) for t in truth["touched"] if t}
    false = [
        [severity, code, str(place["file"])]
        for severity, code, place in told
        if severity != "info" and code not in sound and place.get("file") and not near(str(place["file"]), touched)
    ]
    loud = [
        [r["kind"], code, str(place["file"])]
        for r in truth["defects"]
        if r["severity"] == "info" and not [o for o in truth["defects"] if o is not r and o["path"] == r["path"]]
        for severity, code, place in told
        if severity != "info" and code not in sound and place.get("file") == shown(r["path"] or "")
    ]
    print(
        f"{format} {source.name}: {len(asked) - len(missed)} of {len(asked)}, false {len(false)}, oddities above info {len(loud)}"
    )
    for record in missed:
        where = [record.get(k) for k in ("path", "row", "line", "key", "member") if record.get(k) is not None]
        print(
            f"   missed {record['kind']} ({record['detect']}, {record['level']}) {where} {str(record['detail'])[:90]}"
        )
    for line in [*false, *(["oddity", *x] for x in loud)]:
        print(f"   wrong {line}")
    kinds = [r["kind"] for r in missed]
    return [
        {"format": format, "source": source.name, "asked": len(asked), "missed": kinds, "false": false, "loud": loud}
    ]


def near(file: str, known: set[str]) -> bool:
    """Whether a file, or the folder that it names, is among those known."""
    return any(file == k or k.startswith(file + "/") or file.startswith(k + "/") for k in known)


if __name__ == "__main__":
    main()
