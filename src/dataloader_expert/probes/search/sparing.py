"""A few samples that raise do not keep the others from being timed: another is read in place of each, and which raised is told.

Only a loader that has failed is run again so: looking at each sample costs time.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from dataloader_expert.conclusions import MAX_PLACES
from dataloader_expert.facts import Fact
from dataloader_expert.probes.base import Bench, evidence, in_worker, loader_failed
from dataloader_expert.probes.data.own_samples import RAISES
from dataloader_expert.probes.system.pristine_process import apart
from dataloader_expert.sources.users import is_users

FEW, SHARE = 3, 0.1
"""So many samples may raise in a process, and this share of those that it reads: a dataset of which more raise is not timed."""
INSTEAD = 8
"""The most samples that are tried in place of one."""
ALONE_S = 2.0


class Spared:
    """A dataset that gives a later sample in place of one that raises."""

    def __init__(self, of: Any, note: Callable[[int, str], None], hung: frozenset[int] = frozenset()) -> None:
        self.of, self.note, self.hung = of, note, hung
        self.read = self.raised = 0

    def __len__(self) -> int:
        return len(self.of)

    def __getitem__(self, index: Any) -> Any:
        self.read += 1
        if index in self.hung:
            return self._instead(int(index))
        try:
            return self.of[index]
        except Exception as e:  # the user's
            self.raised += 1
            if self.raised > FEW + SHARE * self.read or not hasattr(index, "__index__"):
                raise
            self.note(int(index), f"{type(e).__name__}: {e}")
        return self._instead(int(index))

    def _instead(self, index: int) -> Any:
        for k in range(1, INSTEAD):
            if (index + k) % len(self.of) in self.hung:
                continue
            try:
                return self.of[(index + k) % len(self.of)]
            except Exception:  # the next may be sound
                continue
        return self.of[(index + INSTEAD) % len(self.of)]


def can_spare(bench: Bench, dataset: Any, error: Exception) -> bool:
    """Whether a loader that raised this may be run again without the samples that raise."""
    ended = in_worker(error) and ("timed out" in str(error) or "Caught" not in str(error))
    single = not bench.source.iterable and not hasattr(dataset, "__getitems__")
    return bench.source.format == "reference" and single and not ended


def told(bench: Bench, raised: dict[int, str], tried: int) -> Iterator[Fact]:
    """The samples that raised as others were timed: those that raise alone too; else that they raise only in the loader."""
    if not raised:
        return
    alone = errors_alone(bench.source, raised, min(ALONE_S, max(0.0, bench.left() / 4)))
    found = {i: alone[i] for i in sorted(alone)}
    if not found:
        first = min(raised)
        yield from loader_failed(
            RuntimeError(f"sample {first}, which can be read alone, raised in the loader: {raised[first]}")
        )
        return
    if bench.facts.find(RAISES) is not None:
        return
    value = {
        "count": len(found),
        "tried": max(tried, len(found)),
        "error": next(iter(found.values()))["error"],
        "garbled": bench.garbled,
        "length": None,
        "beyond": None,
        "samples": [*found][:MAX_PLACES],
        "files": files_of(found),
    }
    yield Fact(RAISES, value, evidence("counted", "loading", seen=value["tried"]))


def errors_alone(source: Any, indices: Iterable[int], seconds: float) -> dict[int, dict[str, Any]]:
    """By sample, what reading it alone raises, and the file that it opened last; read in a process of its own, which one may end."""
    chosen = sorted(indices)[:MAX_PLACES]
    found = apart(partial(_alone, source, chosen), seconds) or {}
    return {int(index): one for index, one in found.items()}


def files_of(found: dict[int, dict[str, Any]]) -> dict[str, str]:
    return {str(index): one["file"] for index, one in found.items() if one["file"]}


def _alone(source: Any, indices: list[int], seconds: float) -> dict[str, Any]:
    from dataloader_expert.sources.reference import Raised

    opened: list[str] = []
    sys.addaudithook(partial(_notes_files, opened))  # this process ends with its experiment
    found = {}
    for index in indices:
        opened.clear()
        try:
            source.sample(index)
        except Raised as e:
            found[str(index)] = {"error": str(e), "file": opened[-1] if opened else ""}
    return found


def _notes_files(opened: list[str], event: str, arguments: Any) -> None:
    if event == "open" and arguments and isinstance(arguments[0], str | bytes | os.PathLike):
        path = os.path.abspath(os.fsdecode(arguments[0]))
        if is_users(path) and not path.endswith((".py", ".pyc")) and not path.startswith(("/proc/", "/dev/", "/sys/")):
            opened.append(path)
