"""Defects from a generator that shares no code with the injector: found with the right code and severity, and located.

``python -m benchmarks.planting [--seeds 5] [--seed N] [--only FORMAT …]`` makes for each format and each kind of defect
(``benchmarks/plants``) a small data set that is sound but for that defect, and checks it with the installed command. It prints
what was missed, and every warning or error in a place that was not touched or in a sound data set. The first seed is taken
from the clock.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.common import client, keep, timed_call, whole
from benchmarks.plants import PLANTS, SOUND, Expected, made

NAME = "planting"
RANK = {"info": 0, "warning": 1, "error": 2}
ALIKE = (
    {
        "duplicate-files",
        "duplicate-samples",
        "near-duplicates",
        "splits-overlap",
        "splits-near-overlap",
        "label-conflict",
    },
    {"severe-imbalance", "label-drift", "class-missing-in-split"},
)
"""Codes that tell of one defect from several sides."""


def missed(expected: Expected, result: dict[str, Any]) -> list[str]:
    """The places of which nothing expected is told."""
    told = [f for f in result["findings"] if f["code"] in expected.codes]
    told = [f for f in told if RANK[f["severity"]] >= RANK[expected.severity]]
    open_ = [place for place in expected.places if not any(at(place, f) for f in told)]
    return [f"{' '.join(place) or 'the whole'}" for place in open_]


def at(place: tuple[str, ...], finding: dict[str, Any]) -> bool:
    """Whether a finding names the file, and the sample or key in it."""
    if not place:
        return True
    file, *rest = place
    for where in finding["where"]:
        named = {str(v) for v in where.values()}
        if str(where.get("file", "")).split("::")[0] in (file, f"./{file}") and set(rest) <= named:
            return True
    return False


def untouched(expected: Expected | None, result: dict[str, Any]) -> list[str]:
    """Warnings and errors that nothing planted explains: another code, at a place of its own or at none."""
    codes = set(expected.codes) if expected else set()
    codes |= {c for alike in ALIKE if codes & alike for c in alike}
    files = {place[0] for place in expected.places if place} if expected else set()
    loud = []
    for f in result["findings"]:
        if f["severity"] == "info" or f["code"] in codes:
            continue
        placed = {str(w["file"]) for w in f["where"] if w.get("file")}
        if not files or not placed or not placed <= files:
            loud.append(f"{f['severity']} {f['code']}: {f['message']}")
    return loud


async def run(formats: list[str], seeds: list[int]) -> list[dict[str, Any]]:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "inside").mkdir()
        async with client(Path(folder) / "inside") as opened:
            for seed in seeds:
                for format in formats:
                    for name in (None, *(n for f, n in PLANTS if f == format)):
                        root = Path(folder) / "inside" / str(seed) / format / str(name)
                        root.mkdir(parents=True)
                        expected = made(format, name, root, Path(folder) / "outside" / str(seed), seed)
                        source = next(iter(root.glob("t.*")), root)
                        try:
                            arguments = {"source": str(source), "detail": "full"}
                            _, result = await timed_call(opened, "check_quality", arguments)
                            result = await whole(opened, result)
                        except RuntimeError as e:
                            # one file that cannot be read at all is refused by name
                            told = expected is not None and any(f"{code}: " in str(e) for code in expected.codes)
                            lost = [] if told else [f"refused: {e}"]
                            rows.append({"seed": seed, "format": format, "kind": name, "missed": lost, "false": []})
                            print("" if told else f"{format} {name}: refused: {e}\n", end="")
                            continue
                        lost = [] if expected is None else missed(expected, result)
                        loud = untouched(expected, result)
                        rows.append({"seed": seed, "format": format, "kind": name, "missed": lost, "false": loud})
                        if lost:
                            said = [(f["severity"], f["code"], f["where"][:2]) for f in result["findings"]]
                            print(f"{format} {name}: missed at {lost}; told: {said}")
                        for line in loud:
                            print(f"{format} {name}: {line}")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", nargs="*", choices=list(SOUND), default=list(SOUND))
    given = parser.parse_args()
    first = time.time_ns() % (1 << 31) if given.seed is None else given.seed
    seeds = list(range(first, first + given.seeds))
    print(f"seeds {seeds}")
    rows = asyncio.run(run(given.only, seeds))
    planted = [r for r in rows if r["kind"]]
    found = sum(not r["missed"] for r in planted)
    print(
        f"{found} of {len(planted)} found and placed; {sum(len(r['false']) for r in rows)} false of {len(rows)} trees"
    )
    keep(NAME, {"seeds": seeds, "rows": [r for r in rows if r["missed"] or r["false"]], "trees": len(rows),
                "planted": len(planted), "found": found, "complete": given.only == list(SOUND) and given.seeds == 5})  # fmt: skip


if __name__ == "__main__":
    main()
