"""Many small tensors: what packing them gains is run, and said once, or nothing is said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch.utils.data import default_collate

from dataloader_expert.probes.data.layout import Layout
from dataloader_expert.probes.data.scan import Scan
from dataloader_expert.probes.experiments.packing import Pack, Packing, row_of, table_of, tensors_by_dtype
from dataloader_expert.probes.model.batch import BatchLook
from dataloader_expert.probes.system.environment import Environment
from tests.making import pipelines
from tests.making.asking import Asker
from tests.making.shared import CHECKOUT

MIXED = {"a": torch.tensor([1.0]), "b": 2, "c": 0.5, "d": torch.tensor([[3.0, 4.0]]), "name": "x"}


@pytest.fixture(scope="module")
def packing() -> Iterator[Any]:
    asker = Asker()
    recipe = (Environment(), Layout(), Scan(near=False, most=16), BatchLook(), Packing(most_s=8.0))
    asker.tools["diagnose_io"] = replace(asker.tools["diagnose_io"], recipe=lambda request: recipe)

    def found(name: str, **more: Any) -> list[Any]:
        report: Any = asker.ask("diagnose_io", f"{pipelines.__file__}:{name}", str(CHECKOUT), source_args=more)
        return [f for f in report.findings if f.code == "many-small-tensors"]

    yield found
    asker.close()


@pytest.mark.journey
def test_many_small_tensors_are_one_finding_with_a_timed_gain(packing: Any) -> None:
    """Our promise: 32 fields are told once, by what packed batches really gained over the user's own."""
    [told] = packing("Fields")
    gain = next(e for e in told.evidence if e.fact == "packed")
    assert gain.how == "timed"
    assert gain.at["tensors"] == 32
    assert gain.value > 1.05
    assert "32 tensors of 1 dtype" in told.message


@pytest.mark.journey
def test_one_packed_tensor_and_dear_samples_are_silent(packing: Any) -> None:
    """Our promise: where there is nothing to pack, or packing could not pay, nothing is run and nothing said."""
    assert packing("Fields", packed=True) == []
    assert packing("FieldsOfDearSamples", n=32) == []


def test_packed_batches_hold_the_same_numbers() -> None:
    """Our promise: the loader that is run for comparison delivers every value, and texts as they were."""
    row = row_of(MIXED)
    assert row["torch.float32"].tolist() == [1, 3, 4]
    assert (row["torch.int64"].tolist(), row["torch.float64"].tolist(), row["name"]) == ([2], [0.5], "x")
    batch = default_collate([MIXED, MIXED])
    assert table_of(batch, 2)["torch.float32"].tolist() == [[1, 3, 4]] * 2
    before, after = (Pack(default_collate, first)([MIXED, MIXED]) for first in (True, False))
    assert before["name"] == after["name"] == ["x", "x"]
    assert all(torch.equal(before[k], after[k]) for k in ("torch.float32", "torch.int64", "torch.float64"))


def test_only_tensors_with_a_row_for_each_sample_are_counted() -> None:
    """Our promise: texts and values of the whole batch are not packed, so they are no reason to."""
    fields: list[dict[str, Any]] = [
        {"dtype": "float32", "shape": ["B", 3]},
        {"dtype": "float32", "shape": ["B"]},
        {"dtype": "str", "shape": ["B"]},
        {"dtype": "int64", "shape": []},
    ]
    assert tensors_by_dtype({"fields": fields}) == {"float32": 2}
    assert not tensors_by_dtype(None)
