"""What slow samples have in common, from samples that are slow for each reason, and from some that have nothing in common."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dataloader_expert.advice.reading import slow
from dataloader_expert.facts import Evidence, Fact, Facts
from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.base import Bench
from dataloader_expert.probes.health.slow_causes import SLOW_CAUSES, SlowCauses
from dataloader_expert.probes.profile.rereads import SLOW
from dataloader_expert.probes.search.loading import CURRENT
from dataloader_expert.probes.search.ordering import ORDERING
from dataloader_expert.sources.registry import open_source
from tests.advice.test_epochs import PLAN, facts_of

CODE = """
import time
from pathlib import Path
import numpy as np
from torch.utils.data import Dataset

HERE = Path(__file__).parent

class Samples(Dataset):
    def __len__(self):
        return 64

    def recalled(self):
        time.sleep(0.02)  # what makes these samples slow: it is found by where they wait

    def __getitem__(self, index):
        if index in {slow}:
            self.recalled()
        [path] = HERE.glob(f"*/{{index}}.*")
        return np.frombuffer(path.read_bytes(), np.uint8).copy()
"""
SPREAD = [3, 17, 40, 55]


def causes(
    folder: Path, slow_ones: list[int], suffix: str = ".bin", size: int = 100, name: str = "a"
) -> dict[str, Any]:
    for index in range(64):
        special = index in slow_ones
        inside = folder / (name if special else "a")
        inside.mkdir(exist_ok=True)
        (inside / f"{index}{suffix if special else '.bin'}").write_bytes(bytes(size if special else 100))
    (folder / "samples.py").write_text(CODE.format(slow=slow_ones))
    ref = SourceRef(f"{folder}/samples.py:Samples", (str(folder),), code=True)
    bench = Bench(open_source(ref, []), ref, 0, None, lambda at: None, lambda text, share: None)
    value = {"count": len(slow_ones), "of": 64, "slowest": [{"sample": index, "ms": 20.0} for index in slow_ones]}
    bench.facts = Facts((Fact(SLOW, value, Evidence("timed", "a test")),))
    [found] = [fact for fact in SlowCauses(most_s=20).measure(bench) if isinstance(fact, Fact)]
    told: dict[str, Any] = found.value
    return told


@pytest.mark.parametrize(
    ("slow_ones", "given", "expected"),
    [
        (SPREAD, {"suffix": ".tif"}, [{"kind": "suffix", "value": ".tif", "others": ".bin"}]),
        (SPREAD, {"size": 9000}, [{"kind": "largest", "least": 9000, "most": 100}]),
        (SPREAD, {"name": "b"}, [{"kind": "folder", "value": "b"}]),
        ([50, 51, 52, 53], {}, [{"kind": "range", "first": 50, "last": 53}]),
        (SPREAD, {}, []),
        ([3], {"suffix": ".tif"}, []),
    ],
    ids=["format", "size", "folder", "range", "nothing", "one alone"],
)
def test_slow_samples_are_told_by_what_only_they_have(
    tmp_path: Path, slow_ones: list[int], given: dict[str, Any], expected: list[dict[str, Any]]
) -> None:
    """Our promise: a trait is named if all slow samples that were compared have it and none of the others; all the same it is known where
    they wait."""
    told = causes(tmp_path, slow_ones, **given)
    assert [{**trait, **({"value": "b"} if trait["kind"] == "folder" else {})} for trait in told["traits"]] == [
        {**one, **({"others": str(tmp_path / "a")} if one["kind"] == "folder" else {})} for one in expected
    ]
    assert told["waits"] and told["at"]["function"] == "recalled"


WHY = {"traits": [], "waits": False, "share": 0.9, "at": {"file": "a/b.py", "line": 9, "function": "f"}}
SLOW_ONES = {"count": 4, "of": 64, "median_ms": 2.0, "slowest": [{"sample": 7, "ms": 90.0}]}


@pytest.mark.parametrize(
    ("why", "text", "fix"),
    [
        (
            {"traits": [{"kind": "suffix", "value": ".tif", "others": ".png"}]},
            "read .tif files, the others .png files",
            "convert",
        ),
        (
            {"traits": [{"kind": "largest", "least": 9e6, "most": 1e6}]},
            "at least 9.0 MB each, the others at most 1.0 MB",
            "shrink",
        ),
        ({"traits": [{"kind": "range", "first": 50, "last": 1053}]}, "they are samples 50 to 1,053", "look at"),
        ({"waits": True}, "they wait at b.py:9 in `f`", "keep a local copy"),
        ({"share": 0.2}, "4 of 64 samples always take", "look at what"),
    ],
)
def test_what_slow_samples_have_in_common_decides_the_cure(why: dict[str, Any], text: str, fix: str) -> None:
    """Seen: rare samples that waited for an archive were only to be inspected."""
    [found] = slow(
        facts_of((SLOW, SLOW_ONES, {}), (SLOW_CAUSES, {**WHY, **why}, {}), (CURRENT, {**PLAN, "num_workers": 2}, {}))
    )
    assert text in found.message and found.fix.startswith(fix) and "in_order=False" in found.fix


def test_giving_up_the_order_is_no_cure_where_it_gained_nothing() -> None:
    """Our promise: what was compared and gained nothing is not advised; without workers there is no order to give up."""
    compared = (ORDERING, {"overtaken": 0.1, "gain": 1.0, "low": 0.9}, {"workers": 2})
    for workers, more in ((2, [compared]), (0, [])):
        [found] = slow(facts_of((SLOW, SLOW_ONES, {}), (CURRENT, {**PLAN, "num_workers": workers}, {}), *more))
        assert "in_order" not in found.fix
