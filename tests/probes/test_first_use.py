"""What the first sample costs a process is found in one that has read nothing, and spent by workers that are measured."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import Dataset

from dataloader_expert.advice.transport import startup
from dataloader_expert.facts import Evidence, Fact, Facts
from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.base import PICKLING, Bench
from dataloader_expert.probes.data.layout import SAMPLES
from dataloader_expert.probes.first_use import FIRST_USE, FirstUse
from dataloader_expert.probes.search.loading import CURRENT
from dataloader_expert.probes.search.tap import tapped
from dataloader_expert.probes.search.trials import STARTING, THROUGHPUT
from dataloader_expert.probes.serving import serving
from dataloader_expert.sources.reference import Reference
from tests.probes.health.test_as_started import reference

pytestmark = pytest.mark.filterwarnings("ignore:.*fork\\(\\)")
TAKES_S = 0.5


def made(kept: dict[str, Any] = {}) -> dict[str, Any]:  # noqa: B006  # one for the process
    """What a process made, where nobody looks: in a default of a function."""
    return kept


class Plain(Dataset[torch.Tensor]):
    def __init__(self) -> None:
        self.index: Any = None

    def __len__(self) -> int:
        return 16

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.zeros(2)


class Connects(Plain):
    """Keeps its client where this process does not find it, as a library does."""

    def __getitem__(self, index: int) -> torch.Tensor:
        if "client" not in made():
            time.sleep(TAKES_S)  # what the probe is to find
            made()["client"] = True
        return torch.zeros(2)


class Imports(Plain):
    """Imports a module, which takes CPU time and imports another first, when it is first needed.

    Seen: the import of pandas told as that of dateutil, on which pandas depends: to import that at the top of the module saves nothing."""

    def __getitem__(self, index: int) -> torch.Tensor:
        import needed_late  # type: ignore[import-not-found]  # written by the test

        return torch.full((2,), float(needed_late.ZERO))


class Indexes(Plain):
    """Keeps in its own attribute what the first sample makes: workers are measured without it anyway."""

    def __getitem__(self, index: int) -> torch.Tensor:
        if self.index is None:
            time.sleep(TAKES_S)  # what the probe is to find
            self.index = [0]
        return torch.zeros(2)


class Sleeps(Plain):
    """Each sample is as slow as the first."""

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(0.3)  # longer than what is told
        return torch.zeros(2)


@pytest.fixture
def slow_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    burn = f"import needed_below, time\nuntil = time.process_time() + {TAKES_S}\nwhile time.process_time() < until:\n    pass\nZERO = 0\n"
    (tmp_path / "needed_below.py").write_text("")
    (tmp_path / "needed_late.py").write_text(burn)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("needed_late", "needed_below"):
        monkeypatch.delitem(sys.modules, name, raising=False)


def measured(dataset: Plain) -> tuple[Bench, Fact | None]:
    """What the probe tells of a dataset of which this process has read a sample after it was ready."""
    made().clear()
    source: Reference = reference(dataset)
    source.loader = None
    source.iterable = False
    ref = SourceRef("memory:dataset", ("/",), code=True)
    bench = Bench(source, ref, 0, time.monotonic() + 60, lambda index: None, lambda message, share: None)
    probe = FirstUse()
    probe.ready(bench)
    source.dataset[0]
    for said in probe.measure(bench):
        assert isinstance(said, Fact)
        bench.facts.add(said)
    return bench, bench.facts.find(FIRST_USE)


@pytest.mark.journey
@pytest.mark.parametrize(("kind", "imports"), [(Connects, ""), (Imports, "needed_late")])
def test_workers_spend_what_a_process_makes_for_itself(kind: type[Plain], imports: str, slow_import: None) -> None:
    bench, fact = measured(kind())
    assert fact is not None
    assert fact.value > 0.8 * TAKES_S
    assert fact.at["imports"] == imports
    assert (fact.at["cpu"] > fact.at["waits"]) is bool(imports)
    served = serving(bench, 4)
    begun = time.perf_counter()
    with tapped():
        assert len(list(served.loader(served.current.but(workers=1)))) == 4
    assert time.perf_counter() - begun > 0.8 * TAKES_S  # once, and not for each batch


@pytest.mark.journey
@pytest.mark.parametrize("kind", [Plain, Indexes, Sleeps])
def test_nothing_is_told_of_what_workers_are_measured_with(kind: type[Plain]) -> None:
    assert measured(kind())[1] is None


@pytest.mark.parametrize("imports", ["", "needed_late"])
def test_the_cause_of_a_slow_start_is_named(imports: str) -> None:
    seen = Evidence("timed", "loading", seen=3)
    plan = {"num_workers": 2, "prefetch_factor": 2, "in_order": True, "persistent_workers": False, "batch_size": 8}
    at = {"workers": 2, "prefetch": 2, "in_order": True, "persistent": False, "batch_size": 8}
    facts = Facts(
        (
            Fact(CURRENT, plan, seen), Fact(SAMPLES, 800, seen), Fact(THROUGHPUT, 100.0, seen, at),
            Fact(STARTING, 3.0, seen, {"workers": 2, "persistent": False}),
            Fact(FIRST_USE, 2.9, seen, {"cpu": 2.9, "waits": 0.0, "imports": imports}),
        )
    )  # fmt: skip
    found = {one.code: one for one in startup(facts)}
    assert set(found) == {"workers-recreated", "slow-worker-start"}
    for one in found.values():
        assert ("needed_late" in one.message) is bool(imports)
        assert (one.fix.count("needed_late") > 0) is bool(imports)
        assert "pickled" not in one.fix


@pytest.mark.parametrize(
    ("method", "kept", "how", "told"),
    [
        ("fork", True, "timed", []),
        ("fork", False, "timed", []),
        ("spawn", True, "timed", [("info", None)]),
        ("spawn", False, "timed", [("warning", None)]),
        ("spawn", False, "derived", [("warning", 0.75)]),
    ],
)
def test_a_slow_start_is_told_where_it_has_a_cause_and_a_cure(
    method: str, kept: bool, how: Any, told: list[tuple[str, float | None]]
) -> None:
    """Seen: 32 forked workers that persist took 3 s to start on a busy machine, a warning whose cure was to fork them. Seen: nothing but an
    unknown where workers took too long to start to be timed, although each epoch begins with it."""
    seen, pickled = Evidence("timed", "loading", seen=3), {"why": None, "start_method": method, "seconds": 0.1}
    plan = {"num_workers": 4, "prefetch_factor": 2, "in_order": True, "persistent_workers": kept, "batch_size": 8}
    facts = Facts(
        (
            Fact(CURRENT, plan, seen), Fact(SAMPLES, 100, seen), Fact(PICKLING, pickled, seen),
            Fact(THROUGHPUT, 100.0, seen, {"workers": 0, "prefetch": 0, "in_order": True, "persistent": False}),
            Fact(STARTING, 3.0, Evidence(how, "loading"), {"workers": 4, "persistent": kept}),
        )
    )  # fmt: skip
    found = [*startup(facts)]
    assert [(one.severity, one.cost) for one in found] == told
    assert all(("persistent_workers=True" in one.fix) is not kept for one in found)
