"""Ways in which real projects differ from examples: packages, imports that train, slow loaders, ranks, streams."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dataloader_expert.errors import RequestError
from dataloader_expert.server.arguments import invalid
from tests.journeys.test_code import rendered, runs
from tests.making import users
from tests.making.asking import Asker
from tests.making.shared import CHECKOUT

USERS = Path(users.__file__)
BUILD = """
import torch
from {absolute} import SIZE


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 20

    def __getitem__(self, index):
        return torch.full((SIZE,), float(index)), index % 2
"""
TRAINS = """
import torch
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.zeros(64, 4))
model = torch.nn.Linear(4, 1)
while True:
    for (x,) in DataLoader(data, batch_size=8):
        model(x).sum().backward()
"""
SLOW = """
import time

import torch


class Slow(torch.utils.data.Dataset):
    def __len__(self):
        return 1000

    def __getitem__(self, index):
        until = time.thread_time() + 0.15
        while time.thread_time() < until:
            pass
        return torch.zeros(4), index % 3
"""


@pytest.mark.parametrize("absolute", ["..config", "acme.config"], ids=["relative import", "absolute import"])
@pytest.mark.parametrize("named", ["acme.data.build:Rows", "acme/data/build.py:Rows"])
def test_a_reference_into_a_package_imports_as_the_package_does(
    absolute: str, named: str, quickly: Asker, tmp_path: Path
) -> None:
    """Our promise: a module is imported under its dotted name below its project's root."""
    package = tmp_path / "acme"
    (package / "data").mkdir(parents=True)
    for folder in (package, package / "data"):
        (folder / "__init__.py").touch()
    (package / "config.py").write_text("SIZE = 6\n")
    (package / "data" / "build.py").write_text(BUILD.format(absolute=absolute))
    source = named if ".py:" not in named else str(tmp_path / named)
    report = quickly.ask("characterize_dataset", source, str(tmp_path), budget_s=20)
    assert (report.samples, report.fields[0].shape) == (20, [6])  # type: ignore[attr-defined]  # of that tool


def test_an_import_that_trains_is_named_with_its_line_and_the_guard(quickly: Asker, tmp_path: Path) -> None:
    """Our promise: import-failed says when the import itself seems to train."""
    (tmp_path / "train.py").write_text(TRAINS)
    with pytest.raises(RequestError, match=r"import-failed: .*train\.py:\d+.*__main__"):
        quickly.ask("characterize_dataset", f"{tmp_path}/train.py:data", str(tmp_path), budget_s=8)


def test_a_python_file_without_a_name_is_answered_with_the_names_in_it(quickly: Asker) -> None:
    """Our promise: the error says what to do next."""
    with pytest.raises(RequestError, match=r"invalid-argument: .*users\.py:Fine"):
        quickly.ask("check_quality", str(USERS), str(CHECKOUT))


def test_a_budget_that_ends_is_no_hang(asker: Asker, tmp_path: Path) -> None:
    """Our promise: slow is not broken; what was not measured is unknown, with the cure."""
    (tmp_path / "slow.py").write_text(SLOW)
    report = asker.ask("diagnose_io", f"{tmp_path}/slow.py:Slow", str(tmp_path), budget_s=10)
    assert not {f.code for f in report.findings if f.severity == "error"}
    assert report.health.hung is False  # type: ignore[attr-defined]  # of that tool
    cures = [u.what for u in report.unknowns if "raise budget_s" in u.why]
    # a busy machine may leave no time for the stages, or end the request in the middle of them: then the result says so
    assert report.stages or {"stages", "the remaining measurements"} & {*cures}, report.unknowns  # type: ignore[attr-defined]  # of that tool


def test_workers_that_take_too_much_memory_are_ended_and_fewer_are_tried(asker: Asker) -> None:
    """Our promise: the trial fails, not the request; what was measured before and after it stays."""
    more = {"num_workers": 4, "batch_size": 4, "budget_s": 20, "allowed_gb": 0.75}
    report: Any = asker.ask("diagnose_io", f"{USERS}:Hoards", str(CHECKOUT), **more)
    said = [f for f in report.findings if f.severity == "error"]
    assert {f.code for f in said} == {"memory-limit-reached"}  # more than one where fewer workers take too much as well
    assert [f.message.startswith("4 workers took ") for f in said].count(True) == 1
    assert 0 in {t.num_workers for t in report.trials}
    assert max(t.num_workers for t in report.trials) < 4
    assert report.recommended.num_workers < 4
    assert report.speedup is None
    assert report.stages


def test_a_batch_beyond_the_budget_is_no_hang(asker: Asker) -> None:
    """Our promise: slow is not broken, and the batch's bytes do not wait for its throughput."""
    more = {"source_args": {"n": 1000}, "batch_size": 1000, "budget_s": 8}
    report: Any = asker.ask("recommend_batch_spec", f"{USERS}:Waits", str(CHECKOUT), **more)
    assert not {f.code for f in report.findings if f.severity == "error"}
    assert report.memory.batch_bytes == 1000 * 40


@pytest.mark.parametrize("tool", ["recommend_batch_spec", "diagnose_io"])
def test_a_model_that_is_not_there_is_refused_with_the_names_that_are(tool: str, quickly: Asker) -> None:
    """Our promise: a bad reference is an error before anything is measured."""
    with pytest.raises(RequestError, match=r"import-failed: .*has no Nett; did you mean Net\? It has Fine,"):
        quickly.ask(tool, f"{USERS}:Fine", str(CHECKOUT), model=f"{USERS}:Nett", budget_s=20)


def test_an_unknown_check_is_refused_and_unasked_boxes_stay_open(quickly: Asker) -> None:
    """Our promise: a pass is only said of what was looked at."""
    model = quickly.tools["check_quality"].request
    assert "did you mean truncated?" in str(invalid(model, {"source": "x", "checks": ["truncatd"]}))
    report: Any = quickly.ask("check_quality", f"{USERS}:Raises", str(CHECKOUT), checks=["nan", "inf"], budget_s=20)
    assert report.checklist.no_nan_or_inf == "pass"
    assert {report.checklist.no_corrupted_files, report.checklist.splits_disjoint} <= {"fail", "unknown"}
    assert report.passed is not True


@pytest.mark.parametrize("objective", ["auto", "metric", "representative", "curriculum"])
def test_the_code_for_several_processes_runs_and_deals_by_rank(objective: str, quickly: Asker) -> None:
    """Our promise: ranks do not draw alike."""
    report = quickly.ask(
        "suggest_sampler", f"{USERS}:Imbalanced", str(CHECKOUT), objective=objective, world_size=2, budget_s=20
    )
    text = rendered(quickly, report)
    simulation = report.model_dump()["simulation"]
    assert simulation is None or simulation["ranks"] == 2
    assert 'rank = int(os.environ.get("RANK", "0"))' in text
    assert runs(text) == 1


def test_a_loaders_own_collate_and_sampler_stand_in_the_code(quickly: Asker) -> None:
    """Our promise: what is the user's own is kept."""
    text = rendered(quickly, quickly.ask("analyze_dataset", f"{USERS}:with_own_sampler", str(CHECKOUT), budget_s=20))
    for kept in ("sampler=yours.sampler", "collate_fn=yours.collate_fn", "drop_last=yours.drop_last"):
        assert kept in text
    assert runs(text) == 2


def test_the_code_for_a_stream_asks_for_no_shuffle(quickly: Asker) -> None:
    """torch refuses shuffle for an IterableDataset."""
    text = rendered(quickly, quickly.ask("analyze_dataset", f"{USERS}:Stream", str(CHECKOUT), budget_s=20))
    assert "shuffle" not in text.split("### DataLoader Config")[1].split("```")[1]
    assert runs(text) == 2


def test_the_training_split_decides_on_the_sampler(quickly: Asker, tmp_path: Path) -> None:
    """Our promise: what is drawn from is what is judged."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    for split, counts in (("train", (240, 20)), ("test", (20, 60))):
        labels = np.repeat([0, 1], counts)
        pq.write_table(pa.table({"x": rng.normal(size=len(labels)), "label": labels}), tmp_path / f"{split}.parquet")
    report: Any = quickly.ask("suggest_sampler", str(tmp_path), str(tmp_path), budget_s=20)
    assert report.strategy == "weighted"
    assert report.classes.before == {"0": 240, "1": 20}
    assert report.simulation.epoch_samples == 260
    quality: Any = quickly.ask("check_quality", str(tmp_path), str(tmp_path), budget_s=20)
    assert quality.checklist.imbalance_strategy_defined == "fail"


def test_arguments_given_as_json_reach_the_users_code(capsys: pytest.CaptureFixture[str]) -> None:
    """The command line takes source_args as JSON."""
    from dataloader_expert.server.command import main

    status = main(["characterize", f"{USERS}:Fine", "--source-args", '{"n": 33}', "--root", str(CHECKOUT)])
    assert status == 0
    assert "33 samples" in capsys.readouterr().out
    asyncio.set_event_loop(None)


def test_what_was_taken_for_a_group_and_a_time_is_said_and_what_was_not(quickly: Asker, tmp_path: Path) -> None:
    """The contract: likely fields are found, and the result says so; a check without its field has not passed."""
    said: dict[str, Any] = {}
    for head in ("x,patient_id,date,label", "x,note,of,label"):
        folder = tmp_path / head
        folder.mkdir()
        for month, split in enumerate(("train", "test"), 1):
            day = "{i}" if "of" in head else "2024-{month:02}-{day}"
            rows = [f"{i},p{i}-{split},{day.format(i=i, month=month, day=10 + i % 9)},{i % 2}" for i in range(40)]
            (folder / f"{split}.csv").write_text("\n".join([head, *rows]) + "\n")
        more = {"group": "note"} if "of" in head else {}
        report: Any = quickly.ask("check_quality", str(folder), str(tmp_path), budget_s=20, detail="full", **more)
        found = {c.id: (c.status, c.field) for c in report.checks if c.id.endswith("-leakage")}
        unknown = [u.what for u in report.unknowns if u.what.endswith("-leakage")]
        said[head] = (found["group-leakage"], found["time-leakage"], unknown)
    assert list(said.values()) == [
        (
            ("pass", "patient_id, by its name"),
            ("pass", "date, by its name and its values, which are times"),
            [],
        ),
        (("pass", "note, as asked"), ("unknown", None), ["time-leakage"]),
    ]
    assert "note (as asked)" in rendered(quickly, report)


def test_rows_of_several_lengths_have_a_range_padding_and_a_worst_batch(asker: Asker, tmp_path: Path) -> None:
    """Our promise: the longest and the shortest rows are batched, wherever they lie; texts stay on the host."""
    rows = [
        {"steps": [0.5] * (40 if i == 57 else 1 if i == 3 else 8), "name": f"n{i}", "kind": i % 2} for i in range(70)
    ]
    (tmp_path / "steps.jsonl").write_text("\n".join(map(json.dumps, rows)))
    report: Any = asker.ask("recommend_batch_spec", str(tmp_path / "steps.jsonl"), str(tmp_path), batch_size=16)
    fields = {f.name: f for f in report.fields}
    assert fields["steps"].range[1] is not None
    assert fields["steps"].range[1][1] == 40
    assert [fields[name].host for name in ("steps", "name", "kind")] == [False, True, False]
    assert report.memory.batch_bytes_worst > 1.5 * report.memory.batch_bytes
    assert 0 < report.padding < 1
    assert report.last_batch == 56 % 16  # of the eight tenths on which the code trains


def test_a_loader_is_weighed_as_it_is_advised(asker: Asker) -> None:
    """Our promise: batches in flight, and what the process tree grew beyond them."""
    report: Any = asker.ask("recommend_batch_spec", f"{USERS}:Arrays", str(CHECKOUT), batch_size=4)
    memory = report.memory
    assert memory.host_parts["in_flight"] == memory.host_bytes
    assert memory.host_total_bytes == sum(memory.host_parts.values())


def test_what_a_model_declares_is_told(asker: Asker) -> None:
    """Our promise: read where it stands, else null."""
    said, silent = (
        asker.ask("recommend_batch_spec", f"{USERS}:Fine", str(CHECKOUT), model=f"{USERS}:{name}", batch_size=4)
        for name in ("Declares", "Net")
    )
    assert said.model_check.declared["mean"] == [0.5]  # type: ignore[attr-defined]  # of that tool
    assert silent.model_check.declared is None  # type: ignore[attr-defined]  # of that tool


WAITS = """
import time

import torch
from torch.utils.data import DataLoader


class Waits(torch.utils.data.Dataset):
    def __len__(self):
        return 1000

    def __getitem__(self, index):
        time.sleep(0.02)  # what workers are to hide
        return torch.full((4,), float(index))


def make():
    return DataLoader(Waits(), batch_size=4)
"""
NOTHING = """
from torch.utils.data import Dataset

class Part(Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, index):
        {body}
        return [float(index * index % 31), float(index)], index % 2
"""


@pytest.mark.parametrize(
    ("body", "message", "fix"),
    [
        ("if index % 10 == 3: return None", "4 of 40 samples are None", "return a sample for each index"),
        ("if index > 36: raise IndexError(index)", "3 of 40 samples raise: IndexError", "have __len__ return 37"),
        ("if index > 36: raise KeyError(index)", "3 of 40 samples raise: KeyError", "have __len__ return 37"),
        ("if index in (3, 39): raise IndexError(index)", "2 of 40 samples raise: IndexError", "repair or skip"),
    ],
)
def test_samples_that_are_not_there_are_told_as_what_they_are(
    body: str, message: str, fix: str, quickly: Asker, tmp_path: Path
) -> None:
    (tmp_path / "part.py").write_text(NOTHING.format(body=body))
    report = quickly.ask("check_quality", f"{tmp_path}/part.py:Part", str(tmp_path), budget_s=20)
    [said] = [f for f in report.findings if f.code == "sample-raises"]
    assert message in said.message
    assert fix in said.fix


def test_the_code_for_a_loader_without_workers_sets_what_was_measured(asker: Asker, tmp_path: Path) -> None:
    """Our promise: the code is the recommendation, also where the loader of before had no workers to keep or prefetch."""
    (tmp_path / "waits.py").write_text(WAITS)
    report: Any = asker.ask("diagnose_io", f"{tmp_path}/waits.py:make", str(tmp_path), budget_s=20)
    assert report.recommended.num_workers > 0
    assert f"num_workers={report.recommended.num_workers}" in report.code
    assert f"persistent_workers={report.recommended.persistent_workers}" in report.code


SPLITS = """
import torch
from torch.utils.data import DataLoader, TensorDataset


def sets():
    return {"val": TensorDataset(torch.arange(8.0)), "train": TensorDataset(torch.arange(40.0))}


def loaders():
    return {name: DataLoader(data, batch_size=4) for name, data in sets().items()}
"""


@pytest.mark.parametrize("name", ["sets", "loaders"])
def test_the_code_for_splits_made_together_runs_without_our_package(name: str, quickly: Asker, tmp_path: Path) -> None:
    """Our promise: ``code`` is plain torch and runs as it is, of datasets and of loaders."""
    (tmp_path / "splits_made_together.py").write_text(SPLITS)
    source = f"{tmp_path}/splits_made_together.py:{name}"
    report: Any = quickly.ask("recommend_batch_spec", source, str(tmp_path), budget_s=20)
    assert "dataloader_expert" not in report.code
    ran = subprocess.run([sys.executable, "-"], input=report.code, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert name == "loaders" or ran.stdout.splitlines() == ["val 8 samples", "train 40 samples"]


LAZY = """
import json
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Lines(Dataset):
    def __init__(self):
        self.path = Path(__file__).with_name("lines.jsonl")
        self.at, self.ready, self.lengths = [0], False, np.arange(3.0)
        with self.path.open("rb") as file:
            for line in file:
                self.at.append(self.at[-1] + len(line))

    def __len__(self):
        return len(self.at) - 1

    def __getitem__(self, index):
        if not self.ready:
            self.file, self.ready = self.path.open("rb"), True
        self.file.seek(self.at[index])
        row = json.loads(self.file.readline())
        return torch.tensor(row["x"]).flip(0) if torch.rand(1) < 0.5 else torch.tensor(row["x"])


def make():
    return DataLoader(Lines(), batch_size=8, num_workers=2)
"""


def test_what_each_worker_opens_and_draws_for_itself_is_sound(asker: Asker, tmp_path: Path) -> None:
    """Our promise: a file opened on first use is none that workers share, though we read samples first; and two workers whose
    coins fall alike once do not draw the same numbers."""
    rows = [json.dumps({"x": [float(i), 2.0 * i, 7.0], "y": "x" * 2000}) for i in range(400)]
    (tmp_path / "lines.jsonl").write_text("\n".join(rows) + "\n")
    (tmp_path / "lines.py").write_text(LAZY)
    report: Any = asker.ask("diagnose_io", f"{tmp_path}/lines.py:make", str(tmp_path), budget_s=20)
    assert not [f.code for f in report.findings if f.severity == "error"]
    assert report.current.throughput is not None
