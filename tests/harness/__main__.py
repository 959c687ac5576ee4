"""``python -m tests.harness CASES... [--server CMD]``: one line a case; status 1 if one fails."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from pathlib import Path

from tests.harness.running import CASES, OURS, cases_of, run, schemas


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.harness", description="Runs tool calls given as data.")
    parser.add_argument("cases", nargs="*", type=Path, help="JSON files, or folders of them; none: ours")
    parser.add_argument("--server", default=OURS, help="command that starts the server; {root} is the data's folder")
    parser.add_argument("--schemas", type=Path, help="write what clients are told of each tool, and run nothing")
    given = parser.parse_args()
    if given.schemas is not None:
        given.schemas.write_text(json.dumps(asyncio.run(schemas()), indent=1) + "\n", encoding="utf-8")
        return 0
    try:
        cases = cases_of(given.cases or [CASES])
    except (OSError, ValueError) as e:
        parser.error(str(e))
    with tempfile.TemporaryDirectory() as folder:
        wrong = asyncio.run(run(cases, Path(folder).resolve(), given.server))
    for name, lines in wrong.items():
        print(f"{'FAIL' if lines else 'ok  '} {name}")
        for line in lines:
            print(f"       {line}")
    failed = sum(map(bool, wrong.values()))
    print(f"{len(wrong) - failed} of {len(wrong)} cases hold")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
