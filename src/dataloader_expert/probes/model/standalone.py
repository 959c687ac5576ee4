"""The code of the loaders in plain torch, run in a process of its own before it is told.

What it must deliver is asserted from the batches that were measured, and how many samples it has is counted, so that a
module that reads something else fails when it is run here.
"""

from __future__ import annotations

import pprint
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from dataloader_expert.facts import Fact, Quantity, Unknown
from dataloader_expert.probes.base import Bench, Observation, Probe, evidence
from dataloader_expert.probes.model.written import SETTINGS, NotWritten, written
from dataloader_expert.probes.system.branches import Branches

STANDALONE = Quantity(
    "standalone_code", "", "a module in plain torch that builds the loaders, once it was run; its settings left open"
)
UNTOLD = "code: without our package"
RUN_S, SHARE = 20.0, 0.4


@dataclass(frozen=True)
class StandaloneCode(Probe):
    """Writes the module, and runs it without workers in a process of its own."""

    name: ClassVar[str] = "standalone"
    doing: ClassVar[str] = "running the code"
    batch_size: int | None = None

    def ready(self, bench: Bench) -> None:
        bench.untouched[self.name] = Branches(run)

    def measure(self, bench: Bench) -> Iterable[Observation]:
        branches = bench.untouched.pop(self.name)
        try:
            yield self._run(bench, branches)
        except NotWritten as e:
            yield Unknown(UNTOLD, f"plain code cannot be generated for {e}")
        finally:
            branches.close()

    def _run(self, bench: Bench, branches: Branches) -> Observation:
        lines = written(bench).splitlines()
        plain = {"batch_size": min(self.batch_size or 32, 32), "num_workers": 0}
        settings = {
            "train": plain if bench.source.iterable else {**plain, "shuffle": True},
            "val": plain,
            "test": plain,
        }
        said = branches.ask({"text": with_settings(lines, settings)}, min(RUN_S, SHARE * bench.left()))
        if "error" in said:
            return Unknown(UNTOLD, f"it was generated but did not run: {said['error'][:200]}")
        source, read = bench.source, said["samples"]
        by_column = source.roles is not None and source.roles.split is not None  # of which some rows may name none
        if source.format != "reference" and not by_column:
            wanted, read = source.splits, read if source.splits else {"": sum(read.values())}
            if read != (wanted or {"": source.samples}):
                return Unknown(UNTOLD, f"it was generated but found {read} of {wanted or source.samples} samples")
        return Fact(STANDALONE, lines, evidence("probed", self.name, seen=1, seconds=said["seconds"]))


def run(asked: dict[str, Any]) -> dict[str, Any]:
    """Runs the module, and gives the samples of each split."""
    begun = time.perf_counter()
    module: dict[str, Any] = {"__name__": "standalone"}
    exec(
        compile(asked["text"], "<standalone>", "exec"), module
    )  # our own lines: names of the data are literals in them
    return {"samples": module["main"](), "seconds": time.perf_counter() - begun}


def with_settings(lines: list[str], settings: dict[str, Any]) -> str:
    """The first mark alone is ours: a later one is a name of the data's."""
    return "\n".join(lines).replace(SETTINGS, pprint.pformat(settings, width=100, sort_dicts=False), 1)


PROBES = (StandaloneCode,)
