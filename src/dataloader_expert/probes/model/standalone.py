"""The code of the loaders in plain torch, run in a process of its own before it is told.

What it must deliver is asserted from the batches that were measured, how many samples it has is counted, and some of them are
compared with ours, so that a module that reads something else fails when it is run here.
"""

from __future__ import annotations

import bisect
import contextlib
import itertools
import pprint
import time
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Quantity, Unknown
from dataloader_expert.probes.base import Bench, Observation, Probe, evidence
from dataloader_expert.probes.data.layout import AGAIN, PRESENT
from dataloader_expert.probes.model.sizes import DRAWS_SPLITS
from dataloader_expert.probes.model.written import SETTINGS, NotWritten, written
from dataloader_expert.probes.serving import serving
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
        if bench.facts.find(PRESENT) is not None and bench.facts.find(AGAIN) is not None:
            branches.close()
            return  # the user's own loader, which needs none of our code, with other settings
        try:
            made = self._run(bench, branches)
            yield made
            if isinstance(made, Fact):
                at_random = any(line.startswith("def split(") for line in made.value)
                yield Fact(DRAWS_SPLITS, at_random, evidence("derived", self.name, derived_from=("standalone_code",)))
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
        said = branches.ask(
            {"text": with_settings(lines, settings), "files": bench.source.format != "reference"},
            min(RUN_S, SHARE * bench.left()),
        )
        if "error" in said:
            return Unknown(UNTOLD, f"it was generated but did not run: {said['error'][:200]}")
        source, read = bench.source, said["samples"]
        by_column = source.roles is not None and source.roles.split is not None  # of which some rows may name none
        if source.format != "reference" and not by_column:
            wanted, read = source.splits, read if source.splits else {"": sum(read.values())}
            if read != (wanted or {"": source.samples}):
                return Unknown(UNTOLD, f"it was generated but found {read} of {wanted or source.samples} samples")
        other = None if source.format == "reference" else _other(bench, said["held"], "" if by_column else None)
        if other is not None:
            return Unknown(UNTOLD, f"it was generated but reads {other} differently from what was measured")
        return Fact(STANDALONE, lines, evidence("probed", self.name, seen=1, seconds=said["seconds"]))


def _other(bench: Bench, held: dict[str, dict[str, dict[str, str]]], split: str | None) -> str | None:
    """The first field of the first of these samples that is another in our own dataset; None: none is.

    ``held``: by split and place in it. ``split``: the one to which all samples belong, whatever it is called; None: as called.
    """
    dataset, units = serving(bench, every_split=True).dataset, bench.source.units
    for name, samples in held.items():
        wanted = name if split is None else split
        mine = [unit for unit in units if not wanted or unit.split == wanted]
        ends = list(itertools.accumulate(unit.samples for unit in mine))
        for place, theirs in samples.items():
            unit = mine[at := bisect.bisect_right(ends, int(place))]
            index = unit.start + int(place) - (ends[at] - unit.samples)
            ours = told(dataset[index])
            for field in theirs:
                if ours.get(field) != theirs[field]:
                    return f"{escaped(field)} of sample {index}"
    return None


def told(sample: dict[str, Any]) -> dict[str, str]:
    """Each value of a sample as text: equal ones alike."""
    import torch

    found = {}
    for name, value in sample.items():
        if isinstance(value, torch.Tensor | bool | int | float):
            tensor = torch.as_tensor(value).contiguous()
            content = zlib.crc32(tensor.reshape(-1).view(torch.uint8).numpy().tobytes()) if tensor.numel() else 0
            found[name] = f"{tensor.dtype} {list(tensor.shape)} {content}"
        else:
            found[name] = str(value)
    return found


def looked_at(dataset: Any) -> dict[int, dict[str, str]]:
    """The first, the middle and the last sample, of those that can be read."""
    whole = getattr(dataset, "dataset", dataset)  # of which a column names the splits
    found = {}
    for at in {0, len(whole) // 2, len(whole) - 1} if len(whole) else ():
        with contextlib.suppress(Exception):  # a damaged file, which the scan reports
            found[at] = told(whole[at])
    return found


def run(asked: dict[str, Any]) -> dict[str, Any]:
    """Runs the module, and gives the number of samples of each split, and some of them."""
    begun = time.perf_counter()
    module: dict[str, Any] = {"__name__": "standalone"}
    exec(
        compile(asked["text"], "<standalone>", "exec"), module
    )  # our own lines: names of the data are literals in them
    samples, seconds, held = module["main"](), time.perf_counter() - begun, {}
    if asked["files"]:
        held = {name: looked_at(dataset) for name, dataset in module["datasets"]().items()}
    return {"samples": samples, "held": held, "seconds": seconds}


def with_settings(lines: list[str], settings: dict[str, Any]) -> str:
    """The first mark alone is ours: a later one is a name of the data's."""
    return "\n".join(lines).replace(SETTINGS, pprint.pformat(settings, width=100, sort_dicts=False), 1)


PROBES = (StandaloneCode,)
