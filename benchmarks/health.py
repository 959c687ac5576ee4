"""Codes by workload: every fault in ``faults`` is found by a call with default arguments, and nothing is found in its counterpart.

``python -m benchmarks.health [--only CODE …]`` runs ``dataloader-expert diagnose`` on each loader, stores every call, and
prints the table from the last call of each workload. Faults that need a device or a remote store are not included.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import time
from typing import Any

from benchmarks.common import CACHE, HERE, command, keep
from benchmarks.faults import CASES

NAME = "health"
STEP_MS = {"accelerator-starves": 1.0}


def ask(function: str) -> dict[str, Any]:
    """The codes that the installed command finds for a loader of ``faults``, with default arguments."""
    begun = time.perf_counter()
    folder = CACHE / "faults"
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [command(), "diagnose", f"{HERE / 'faults.py'}:{function}", "--root", str(HERE), "--json"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "FAULTS_FOLDER": str(folder)},
    )
    seconds = time.perf_counter() - begun
    try:
        result = json.loads(done.stdout)
    except ValueError:
        return {"codes": {}, "seconds": seconds, "error": (done.stderr or done.stdout)[-400:]}
    codes = {f["code"]: f["severity"] for f in result["findings"]}
    codes |= {f"tool error {result['error']}": "error"} if "error" in result else {}
    return {"codes": codes, "seconds": round(seconds, 2), "elapsed_s": result.get("elapsed_s")}


def recent() -> dict[str, dict[str, Any]]:
    """The last call of every workload."""
    path = HERE / "results" / f"{NAME}.jsonl"
    found: dict[str, dict[str, Any]] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        row = json.loads(line)
        found[row["workload"]] = row
    return found


def table(rows: dict[str, dict[str, Any]]) -> str:
    lines = [f"{'code':32} {'fault':28} {'found':8} {'twin':28} silent"]
    right = 0
    for code, (fault, clean) in CASES.items():
        one, two = rows.get(fault), rows.get(clean)
        found = "?" if one is None else "yes" if code in one["codes"] else "NO"
        silent = "?" if two is None else "yes" if code not in two["codes"] else "NO"
        right += (found, silent) == ("yes", "yes")
        lines.append(f"{code:32} {fault:28} {found:8} {clean:28} {silent}")
    seconds = [r["seconds"] for r in rows.values()]
    lines.append(f"{right} of {len(CASES)} rows right; a call took {min(seconds):.0f} to {max(seconds):.0f} s")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*", default=list(CASES), help="codes")
    parser.add_argument("--table", action="store_true", help="only print the table of what was kept")
    asked = parser.parse_args()
    wanted = list(dict.fromkeys(name for code in asked.only for name in CASES[code])) if not asked.table else []
    for name in wanted:
        row = ask(name)
        keep(NAME, {"workload": name, **row})
        print(f"{name:28} {row['seconds']:5.1f} s  {', '.join(row['codes']) or row.get('error', '-')}", flush=True)
    print(table(recent()))


if __name__ == "__main__":
    main()
