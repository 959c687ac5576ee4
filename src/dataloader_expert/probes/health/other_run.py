"""Whether another run reads the same samples: a fresh interpreter with other hashes, as each run of a training script has.

The order of a set of texts differs from run to run. Where classes are numbered by it, a label is another one when training is resumed, evaluated
or served, without an error.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from dataloader_expert.facts import Fact, Quantity, Unknown
from dataloader_expert.probes.base import Bench, Observation, Probe, evidence, hangs
from dataloader_expert.probes.fresh import Fresh, asked, several
from dataloader_expert.probes.patience import Hung, Patience
from dataloader_expert.probes.profile.rereads import word_of
from dataloader_expert.sources.items import items_of
from dataloader_expert.sources.opened import below
from dataloader_expert.sources.reference import Raised
from dataloader_expert.sources.users import is_users

OTHER_RUN = Quantity(
    "other_run",
    "samples",
    "samples that differ in a run with other hashes, the fields that do, and lines of code that use hashes",
)
COMPARED, READING = 12, 0.2
"""Samples that are compared, at most, and the share of this probe's time in which they are read here."""
SEEDS = ("1", "1", "2")
"""Values of ``PYTHONHASHSEED``: what differs between two runs with one value is drawn at random, and not by hashes."""
HASHED = re.compile(r"(?<![\w.])(?:frozenset|set|hash)\(")
LINES = 3


@dataclass(frozen=True)
class OtherRun(Probe):
    name: ClassVar[str] = "other_run"
    doing: ClassVar[str] = "comparing with another run"
    torch: ClassVar[bool] = False  # it looks at references alone, and their host has imported it
    share: float = 0.5
    most_s: float = 20.0

    def measure(self, bench: Bench) -> Iterable[Observation]:
        source: Any = bench.source
        if source.format != "reference" or source.iterable or hangs(bench):
            return
        lines = _lines(bench.ref.roots)
        if not lines:
            return  # nothing that a hash decides
        seconds = max(1.0, min(self.most_s, self.share * bench.left()))
        until = time.monotonic() + seconds
        steady = _steady(bench, source.dataset, time.monotonic() + READING * seconds)
        if not steady:
            return
        bench.progress("reading in another run", None)
        wanted = {"indices": steady}
        runs = several([Fresh(__name__, bench.ref, wanted, {"PYTHONHASHSEED": seed}) for seed in SEEDS], until)
        why = next((why for _, why in runs if why), None)
        if why is not None:
            yield Unknown("reading in another run", why)
            return
        one, same, other = map(_by_sample, (told for told, _ in runs))
        drawn = {
            name for i, fields in one.items() for name, word in fields.items() if same.get(i, fields).get(name) != word
        }
        differ = {i: [name for name in unlike(one.get(i, {}), other.get(i, {})) if name not in drawn] for i in steady}
        differ = {i: fields for i, fields in differ.items() if fields}
        value = {
            "compared": len(steady),
            "differ": sorted(differ),
            "fields": sorted({name for fields in differ.values() for name in fields}),
            "lines": lines[:LINES],
        }
        yield Fact(OTHER_RUN, value, evidence("counted", "other_run", seen=len(steady), population=len(source.dataset)))


def _steady(bench: Bench, dataset: Any, until: float) -> list[int]:
    """Some samples that can be read in time here."""
    size = len(dataset)
    found = []
    with Patience(bench) as reading:
        for index in sorted({i * (size - 1) // (COMPARED - 1) for i in range(COMPARED)}):
            if time.monotonic() > until or reading.gave_up:
                break
            bench.at(index)
            try:
                reading.read(dataset, index)
            except (Raised, Hung):
                continue  # the scan has said which samples raise
            found.append(index)
    bench.at(-1)
    return found


def read(dataset: Any, indices: Sequence[int]) -> Iterable[tuple[int, dict[str, str]]]:
    """A digest of each field of these samples."""
    for index in indices:
        try:
            yield index, {name: word_of(value) for name, value in items_of(dataset[index])}
        except Exception:  # the scan has said which samples raise
            continue


def _by_sample(told: Iterable[Sequence[Any]]) -> dict[int, dict[str, str]]:
    return {int(index): fields for index, fields in told}


def unlike(one: dict[str, str], other: dict[str, str]) -> list[str]:
    """The fields of a sample that two runs read differently."""
    return [name for name, word in one.items() if other.get(name, word) != word]


def _lines(roots: tuple[str, ...]) -> list[dict[str, Any]]:
    """Lines of the user's modules that use hashes."""
    files = dict.fromkeys(str(getattr(module, "__file__", None) or "") for module in list(sys.modules.values()))
    own = (f for f in files if f.endswith(".py") and is_users(f) and below(os.path.realpath(f), roots))
    return [{"file": file, "line": n} for file, n, line in _read_lines(own) if HASHED.search(line.partition("#")[0])]


def _read_lines(files: Iterable[str]) -> Iterator[tuple[str, int, str]]:
    """The lines of these files, with their numbers."""
    for file in files:
        try:
            with open(file, encoding="utf-8") as text:
                yield from ((file, n, line) for n, line in enumerate(text, 1))
        except (OSError, UnicodeDecodeError):
            continue


def main() -> None:
    """Runs in the fresh interpreter."""
    source, given, tell = asked()
    for told in read(source.dataset, given["indices"]):
        tell(told)


PROBES = (OtherRun,)
