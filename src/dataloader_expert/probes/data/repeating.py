"""A pytest file that repeats the checklist in plain code, and a run of it: which of its tests fail on these data."""

from __future__ import annotations

import multiprocessing as mp
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from dataloader_expert.checks.base import ROLES, Context
from dataloader_expert.checks.common.fingerprint import content_fields
from dataloader_expert.errors import Aside
from dataloader_expert.facts import Fact, Quantity, Unknown
from dataloader_expert.probes.base import Bench, Observation, Probe, evidence
from dataloader_expert.probes.handing_over import in_several_files, literals, reading, sources_of, unread
from dataloader_expert.sources import plain
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.files import is_beside
from dataloader_expert.sources.items import items_of
from dataloader_expert.sources.layout import SPLITS
from dataloader_expert.sources.magic import SUFFIXES
from dataloader_expert.sources.placed import project_root
from dataloader_expert.sources.plain import READERS
from dataloader_expert.sources.split_datasets import called_for_each

REPEATED = Quantity(
    "repeated_checks",
    "",
    "a pytest file in plain code, which of its tests fail, on how many samples (null: all), and how long it ran",
)
MOST_S = 6.0
WHOLE_SAMPLES, WHOLE_BYTES, PART = 20_000, 16 << 20, 1_000
"""Up to so many samples and bytes on disk the file is run on all of the data, beyond on so many samples: it reads one sample
after another in plain Python, and all of it has been checked already."""
HEAD = '''"""Checks of DATA, in plain code. Run it with pytest.

DATA in the environment names another copy of the data; MOST, the most samples to look at.
It was run on RAN when it was written.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

'''


@dataclass(frozen=True)
class Repeating(Probe):
    """Runs last: the plain code reads the data again, or a part of them, for ``share`` of the time left and ``MOST_S`` at most."""

    name: ClassVar[str] = "repeating"
    doing: ClassVar[str] = "running the pytest file"
    torch: ClassVar[bool] = False
    share: float = 0.5

    def measure(self, bench: Bench) -> Iterable[Observation]:
        unread = _unread(bench)
        if unread is not None:
            yield Unknown("code", f"no plain code reads {unread}: use dataloader-expert check in CI")
            return
        code = written(bench)
        seconds = min(MOST_S, 1e9 if bench.deadline is None else self.share * bench.left())
        begun = time.monotonic()
        most: int | None
        for most in (None, PART) if _small(bench) else (PART,):
            failed = _run(code, begun + seconds * (0.7 if most is None else 1) - time.monotonic(), most)
            if failed is not None:
                break
        if failed is None:
            why = f"did not finish in the {seconds:.1f} s left" if seconds >= 0.1 else "were not run for lack of time"
            yield Unknown("code", f"the generated tests {why}, and untested code is not returned: raise budget_s")
            return
        spent = round(time.monotonic() - begun, 3)
        ran = "all of them" if most is None else f"up to {most:,} samples of them"
        lines = code.replace("It was run on RAN when", f"It was run on {ran} when", 1).splitlines()
        value = {"lines": lines, "failed": failed, "most": most}
        yield Fact(REPEATED, value, evidence("counted", self.name, seconds=spent))


def _small(bench: Bench) -> bool:
    """Whether the file is run on all of the data."""
    source = bench.source
    return source.samples <= WHOLE_SAMPLES and sum(unit.bytes for unit in source.units) <= WHOLE_BYTES


def _unread(bench: Bench) -> str | None:
    """What of these data no plain reader reads; None: nothing."""
    if bench.ref.split is not None:
        return "one split alone"
    if bench.source.format == "reference" and not bench.source.iterable:
        return None if bench.ref.name.rpartition(":")[0].endswith(".py") else "a Dataset that is not named by its file"
    return "samples of several files" if in_several_files(bench.source) else unread(bench.source)


def _beside(source: Source) -> Iterator[str]:
    """The files that are no data: those that are told as such, and notes such as a README."""
    yield from (str(p.where["file"]) for p in source.problems if isinstance(p, Aside) and "file" in p.where)
    listing = getattr(source, "listing", None)
    yield from (e.path for e in listing.entries if is_beside(e.path)) if listing is not None else ()


def written(bench: Bench) -> str:
    """The file's text."""
    from dataloader_expert.checks import repeated

    source = bench.source
    reader, kind = READERS.get(source.format, (plain.read_dataset, ""))
    context = Context.of(source, 0)
    taken = {r["role"]: r["field"] for r in bench.facts.value(ROLES, [])}
    recurring = any(f.code == "group-leakage" and f.severity == "info" for f in bench.findings)
    whole = Path(bench.ref.name.rpartition(":")[0] or bench.ref.name).resolve()
    files = {unit.file for unit in source.units} if source.format != "reference" else ()
    own = {Path(file).suffix.lower() for file in files} - {""}  # .json may hold lines, .txt a table
    named: dict[str, Any] = {
        "SUFFIXES": tuple(sorted({s for s, k in SUFFIXES.items() if k == kind} | own)),
        "ASIDE": frozenset(_beside(source)),
        "SAMPLES": source.samples,
        "LABEL": source.label,
        "WITHHELD": frozenset(
            {source.label, *context.withheld, *(f.name for f in context.fields if f.kind == "mask")} - {None}
        ),
        "OBJECTS": kind in ("json", "jsonl"),
        "SPLIT": taken.get("split"),
        "GROUP": None if recurring else taken.get("group"),
        "CONTENT": tuple(content_fields(context)),
        "SPLIT_WORDS": SPLITS if source.splits else {},
        "MOST_IMBALANCE": repeated.MOST_IMBALANCE,
        "PHRASE": source.phrase,
        "SHARED": sum(f.count for f in bench.findings if f.code == "splits-overlap" and f.severity == "info"),
    }
    if reader is plain.read_dataset:
        root = project_root(whole)
        named["PATHS"] = (str(whole.parent), str(root))
        named["MODULE"] = ".".join(whole.relative_to(root).with_suffix("").parts)
        named["NAME"] = bench.ref.name.rpartition(":")[2]
        named["CALLS"] = called_for_each(bench.ref.args) or {"": dict(bench.ref.args)}
        named["PUT"] = None
        if source.splits:
            named["PUT"] = named["SPLIT"] = "_".join(
                ("split", *(f.name for f in source.fields))
            )  # a name that no field has
        readers: list[Any] = [items_of, reader]
    else:
        constants, readers = reading(source, reader)
        named |= constants
    parts = [repeated.Seen, repeated.files, repeated.split_of, repeated.form_of, repeated.parts_of, repeated.seen]
    tests = [test for tests in repeated.TESTS.values() for test in tests]
    head = HEAD + f'DATA = os.environ.get("DATA", {str(whole)!a})\nMOST = int(os.environ.get("MOST", "0"))\n'
    return (
        head
        + literals(named)
        + "\n\n"
        + sources_of((*readers, *parts, repeated.look, repeated.lacking, *tests), reader, "MEMBERS" in named)
    )


def _run(code: str, seconds: float, most: int | None) -> list[str] | None:
    """Names of the tests that fail; None where they do not end in time. ``most``: the most samples that they look at."""
    context = mp.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_tests, args=(code, theirs, most), daemon=True)
    process.start()
    theirs.close()
    try:
        return list(ours.recv()) if ours.poll(max(seconds, 0.0)) else None
    except EOFError:
        return None
    finally:
        process.kill()
        process.join()


def _tests(code: str, channel: Any, most: int | None) -> None:
    import os
    import sys
    import types

    os.environ["MOST"] = str(most or 0)
    os.environ.pop("DATA", None)
    module = types.ModuleType("repeated_checks")
    sys.modules[module.__name__] = module  # which dataclasses look up
    exec(compile(code, "test_data.py", "exec"), module.__dict__)  # what is handed over is run first
    failed = []
    for name, test in list(module.__dict__.items()):
        if name.startswith("test_"):
            try:
                test()
            except AssertionError:
                failed.append(name)
    channel.send(failed)


PROBES = (Repeating,)
