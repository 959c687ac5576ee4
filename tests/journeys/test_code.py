"""The code that reports hand over runs as it stands, and the analysis has the structure that was promised."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from dataloader_expert.loaders.samples import SourceDataset
from dataloader_expert.plan import SourceRef
from dataloader_expert.report import Report
from dataloader_expert.sources.registry import open_source
from dataloader_expert.tools.recommend_batch_spec import Result
from dataloader_expert.tools.rendering import in_detail
from tests.making import users
from tests.making.asking import Asker
from tests.making.scripts import ran
from tests.making.shared import CHECKOUT
from tests.making.tiny import TINY, Made

FENCE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
SECTIONS = [
    "Composition",
    "Storage Profile",
    "Batch Specification",
    "Preprocessing",
    "DataLoader Config",
    "Quality Checks",
]
BOLD = {
    "Composition": ["Type", "Total Samples", "Splits", "Class Distribution", "Modality"],
    "Storage Profile": ["Format", "Location", "Size", "File Count"],
    "Batch Specification": ["Batch Size", "Memory per Batch"],
    "Preprocessing": ["Normalization", "Augmentation", "Dtype"],
    "DataLoader Config": ["Throughput"],
}
BOXES = [
    "No corrupted files",
    "Shapes consistent",
    "No NaN/Inf values",
    "Imbalance strategy defined",
    "Train/val/test non-overlapping",
]
IN_ONE_FILE = "hdf5, a group of datasets per split"
"""Splits that share a file, for which no plain code is written."""
WAYS = {name: name for name in TINY if "reference" not in name and name not in (IN_ONE_FILE, "lines, languages")}
USERS = Path(users.__file__)


def rendered(asker: Asker, report: Report) -> str:
    return in_detail(asker.tools[report.tool], report, "full").report_markdown


def runs(text: str) -> int:
    """Runs each Python block of a report as a script; gives how many there were."""
    blocks = FENCE.findall(text)
    with warnings.catch_warnings():
        # torch's own, of more workers than cores: so many were found to pay
        warnings.filterwarnings("ignore", message="This DataLoader will create", category=UserWarning)
        for block in blocks:
            ran(block)
    return len(blocks)


@pytest.mark.parametrize("name", WAYS)
def test_the_code_of_an_analysis_runs_for_every_format(name: str, quickly: Asker, tmp_path: Path) -> None:
    """Our promise: blocks run as they stand, with their shape asserts."""
    made = TINY[name](tmp_path)
    report = quickly.ask("analyze_dataset", made.source, str(made.root), label=made.label, budget_s=20)
    assert runs(rendered(quickly, report)) == 2


def test_a_padded_length_is_asserted_by_no_code_though_all_batches_looked_at_agree(
    quickly: Asker, tmp_path: Path
) -> None:
    lines = [json.dumps({"steps": [0.5] * (8 if i % 2 else 3), "kind": i % 2}) for i in range(64)]
    (tmp_path / "steps.jsonl").write_text("\n".join(lines))
    report = quickly.ask("recommend_batch_spec", str(tmp_path / "steps.jsonl"), str(tmp_path), budget_s=5)
    assert isinstance(report, Result)
    [steps] = [f for f in report.fields if f.name == "steps"]
    assert (steps.shape, steps.variable) == (["B", None], True)
    assert "ndim == 2" in report.code
    assert runs(rendered(quickly, report)) == 1


@pytest.mark.parametrize("objective", ["balanced", "metric", "curriculum", "throughput", "representative"])
@pytest.mark.parametrize("dataset", ["Imbalanced", "with_own_sampler"])
def test_the_code_of_every_sampler_runs(dataset: str, objective: str, quickly: Asker) -> None:
    """Our promise: the sampler's code runs, for a Dataset and for a DataLoader's."""
    report = quickly.ask("suggest_sampler", f"{USERS}:{dataset}", str(CHECKOUT), objective=objective, budget_s=20)
    assert runs(rendered(quickly, report)) == 1


def test_the_analysis_has_the_promised_structure_word_for_word(quickly: Asker, tmp_path: Path) -> None:
    """The persona's structure: six sections in order, their bold labels, five boxes each with its reason."""
    made = TINY["image-folder"](tmp_path)
    text = rendered(quickly, quickly.ask("analyze_dataset", made.source, str(made.root), budget_s=20))
    assert text.startswith("## Dataset Analysis: ")
    assert re.findall(r"^### (.+)$", text, re.MULTILINE) == SECTIONS
    parts = dict(zip(SECTIONS, re.split(r"^### .+$", text, flags=re.MULTILINE)[1:], strict=True))
    for section, labels in BOLD.items():
        assert re.findall(r"^(?:- )?\*\*([^*]+)\*\*:", parts[section], re.MULTILINE) == labels
    assert parts["DataLoader Config"].strip().splitlines()[-1].startswith("**Throughput**: ~")
    boxes = re.findall(r"^- \[([ x])\] ([^:]+): (pass|fail|unknown)\. (.+)$", parts["Quality Checks"], re.MULTILINE)
    assert [label for _, label, _, _ in boxes] == BOXES
    assert all((mark == "x") == (status == "pass") and why for mark, _, status, why in boxes)


def test_every_bare_figure_of_a_template_says_how_it_was_got(quickly: Asker, tmp_path: Path) -> None:
    """Our promise: throughput carries interval, observations and a word."""
    made = TINY["image-folder"](tmp_path)
    text = rendered(quickly, quickly.ask("diagnose_io", made.source, str(made.root), budget_s=20))
    lines = re.findall(r"^\| \d+ \| \S+ \| \d+ \| (.+) \|$", text, re.MULTILINE)
    assert lines
    one = r"samples/s \(n=1, timed\)"  # left after its first block: no interval
    assert all(re.search(rf"samples/s \(95 % .+ to .+, n=\d+, timed\)|{one}", line) for line in lines)


@pytest.mark.parametrize("name", [*WAYS, "reference"])
def test_the_code_of_a_specification_needs_only_torch(name: str, quickly: Asker, tmp_path: Path) -> None:
    """Our promise: plain torch, a loader for each split, asserts on shapes, run before it was told; samples as ours."""
    if name == "reference":
        report = quickly.ask("recommend_batch_spec", f"{USERS}:Fine", str(CHECKOUT), budget_s=20)
    else:
        made = TINY[name](tmp_path)
        report = quickly.ask("recommend_batch_spec", made.source, str(made.root), label=made.label, budget_s=20)
    assert isinstance(report, Result)
    assert "import dataloader_expert" not in report.code
    assert "from dataloader_expert" not in report.code
    assert "assert batch" in report.code or "assert isinstance(batch" in report.code
    assert f"'batch_size': {report.batch_size}" in report.code
    assert runs(rendered(quickly, report)) == 1
    if name != "reference":
        assert_same_samples(report.code, made)


def test_the_code_splits_a_table_as_its_column_says(quickly: Asker, tmp_path: Path) -> None:
    """Our promise: where a column names the splits, the code draws none at random."""
    rows = [f"{i / 7:.4f},{'ab'[i % 2]},{'train' if i % 5 else 'val'}" for i in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["x,label,split", *rows]), encoding="utf-8")
    report = quickly.ask("recommend_batch_spec", str(tmp_path / "t.csv"), str(tmp_path), budget_s=20)
    assert isinstance(report, Result)
    assert "import dataloader_expert" not in report.code
    module = ran(report.code, "written")
    assert module["main"]() == {"train": 48, "val": 12}


PAIRED = [
    ("images/{}.jpg", "masks/{}.png", 60),
    ("train/images/{}.png", "train/masks/{}.png", 12),
    ("train/{}.jpg", "train_masks/{}_mask.png", 12),
    ("{}.png", "{}_mask.png", 60),
    ("img/{}_rgb.png", "gt/{}_gt.png", 12),
    ("{}.jpg", "captions/{}.txt", 60),
]
"""Where samples and their partners lie, and how many: more than are named one by one, or fewer."""


@pytest.mark.parametrize(("sample", "partner", "n"), PAIRED, ids=[partner for _, partner, _ in PAIRED])
def test_the_code_reads_samples_with_their_partners(
    sample: str, partner: str, n: int, quickly: Asker, tmp_path: Path
) -> None:
    """Our promise: plain torch; a mask is as large as its image was made, and no class of it is mixed with another."""
    rng = np.random.default_rng(5)
    for i in range(n):
        size = (40 + i % 3, 32 + i % 2)
        for place, values in ((sample, (*size, 3)), (partner, size)):
            path = tmp_path / place.format(f"{i:03}")
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".txt":
                path.write_text(f"caption {i}", encoding="utf-8")
            else:
                Image.fromarray(rng.choice([0, 7, 255], values).astype(np.uint8)).save(path)
    report = quickly.ask("recommend_batch_spec", str(tmp_path), str(tmp_path), budget_s=20)
    assert isinstance(report, Result)
    assert "import dataloader_expert" not in report.code
    assert "from dataloader_expert" not in report.code
    other = "text" if partner.endswith(".txt") else "mask"
    assert {f.name for f in report.fields} == {"image", other}
    assert runs(rendered(quickly, report)) == 1
    assert_same_samples(report.code, Made(str(tmp_path), tmp_path, "image-folder", "image", n, 2 * n))
    module = ran(report.code, "written")
    held = next(iter(module["datasets"]().values()))[0]
    if other == "mask":
        assert held["mask"].shape == held["image"].shape[1:]
        assert set(held["mask"].unique().tolist()) <= {0, 7, 255}


def assert_same_samples(code: str, made: Made) -> None:
    """What the code's datasets hold is what our own dataset holds."""
    module = ran(code, "written")
    source = open_source(SourceRef(made.source, (str(made.root),), label=made.label), [])
    _, classes = module["FIELDS"].get(source.label, (None, None))
    ours = SourceDataset(source, module.get("SIZE"), tuple(classes) if isinstance(classes, list) else None)
    theirs = [
        sample for dataset in module["datasets"]().values() for sample in map(dataset.__getitem__, range(len(dataset)))
    ]
    assert sorted(map(told, theirs)) == sorted(told(ours[i]) for i in range(len(ours)))


def told(sample: dict[str, Any]) -> str:
    values = {k: torch.as_tensor(v) if isinstance(v, int | float) else v for k, v in sorted(sample.items())}
    return repr({k: (v.dtype, v.tolist()) if isinstance(v, torch.Tensor) else v for k, v in values.items()})


def test_a_model_without_data_is_asked_for_by_its_input(asker: Asker) -> None:
    """Our promise: memory before there is any data; parts, the phase of the peak, and the line by batch size."""
    report = asker.ask(
        "recommend_batch_spec",
        "",
        str(CHECKOUT),
        input={"ids": {"shape": ["B", 32], "dtype": "int64", "low": 0, "high": 499}},
        model=f"{CHECKOUT}/tests/making/standard_models.py:Decoder",
        model_args={"width": 64, "depth": 2, "vocabulary": 500, "longest": 32},
        memory_limit_gb=1,
        budget_s=60,
    )
    assert isinstance(report, Result)
    memory = report.memory
    assert memory.device_peak_bytes is not None
    assert memory.device_peak_bytes.how == "derived"
    assert memory.parts["activations"] > memory.parts["parameters"] > 0
    assert memory.peak_at in ("forward", "backward", "optimizer_step")
    assert memory.fit is not None
    assert memory.fit["straight"]
    assert abs(memory.fit["check"]["error"]) < 0.01
    assert report.model_check is not None
    assert report.model_check.accepted
    assert report.format == "input"
