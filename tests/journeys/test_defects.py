"""Damaged copies of sound data sets: nothing crashes, nothing is executed, every defect that shows is found.

Some faults are our own and always planted; a whole catalogue comes from ``corrupt.py`` beside the shared data,
if it is there.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import warnings
from pathlib import Path
from typing import Any

import pytest

from dataloader_expert.conclusions import Finding
from tests.making.faults import CANARY, FAULTS
from tests.making.scanning import Scanned, scan
from tests.making.shared import shared
from tests.making.sound import SOUND

FOLDER = shared()
GENERATOR = None if FOLDER is None or not (FOLDER / "corrupt.py").is_file() else FOLDER / "corrupt.py"
COPIES = {"safetensors", "pt", "h5", "feather"}
"""Of these the generator gives the damaged file alone: its sound neighbours are put beside it."""

NOT_YET_SEEN: dict[str, set[str]] = {}
"""Kinds that ought to be seen and are not: this list may only become shorter."""


@pytest.fixture
def sound(format: str, tmp_path: Path) -> Path:
    folder = tmp_path / "sound"
    folder.mkdir()
    SOUND[format](folder)
    return folder


def serious(scanned: Scanned) -> dict[str, int]:
    return {f.code: f.count for f in scanned.findings if f.severity != "info"}


@pytest.mark.parametrize("format", SOUND)
def test_a_sound_data_set_raises_no_suspicion(sound: Path) -> None:
    """Our promise: where nothing is wrong nothing above an info is said."""
    scanned = scan(sound, sound.parent)
    assert (serious(scanned), scanned.error, scanned.unknowns) == ({}, None, [])


@pytest.mark.parametrize(
    ("format", "fault"), [pytest.param(fault.format, name, id=name) for name, fault in FAULTS.items()]
)
def test_a_planted_fault_is_found_by_its_code(sound: Path, fault: str) -> None:
    """Our promise: each of these has its code, at warning or above, and what would run code is never run."""
    FAULTS[fault].plant(sound)
    scanned = scan(sound, sound.parent)
    assert scanned.error is None
    assert FAULTS[fault].code in serious(scanned), [f.code for f in scanned.findings]
    assert not (sound.parent / CANARY).exists()


@functools.cache
def generator() -> Any:
    """The catalogue of defects; it shall not ask other readers what they observe, which takes most of its time."""
    assert GENERATOR is not None
    spec = importlib.util.spec_from_file_location("generator_of_defects", GENERATOR)
    assert spec is not None and spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.observe = lambda *_: {}
    return module


def damaged(sound: Path, out: Path, format: str, kind: str) -> dict[str, Any] | None:
    """Plants one defect of this kind; its record, or None where these data offer no place for it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the generator's own writers say of what they are told to write
        truth = generator().run(sound, out, format, 1, 3, [kind], None, True)
    if truth["skipped"]:
        return None
    if format in COPIES:
        files = [p for p in (out / "data").rglob("*") if p.is_file() and p.parent.name != "clean"]
        shutil.copytree(sound, out / "whole")
        for file in files:
            shutil.copy(file, out / "whole")
        shutil.rmtree(out / "data")
        (out / "whole").rename(out / "data")
    record: dict[str, Any] = truth["defects"][0]
    return record


def crashed(scanned: Scanned) -> bool:
    """An exception of ours: a request may be refused by the format's code, and by nothing else."""
    if not all(u.startswith(("classes:", "field ")) for u in scanned.unknowns):  # which say what is not read
        return True
    return scanned.error is not None and not scanned.error.startswith("format-unknown")


def refused(scanned: Scanned, record: dict[str, Any]) -> bool:
    """Nothing could be read at all, and the error names the file."""
    return scanned.error is not None and Path(record["path"] or "").name in scanned.error


def executed(record: dict[str, Any]) -> bool:
    canary = record["detail"].get("canary")
    return canary is not None and Path(canary).exists()


def shows(data: Path, kind: str, record: dict[str, Any]) -> bool:
    """Whether there is anything to see here: a privileged user may read what none may."""
    return kind != "unreadable_permission" or not os.access(data / record["path"], os.R_OK)


def test_the_findings_of_a_scan_say_where_and_what_to_do(tmp_path: Path) -> None:
    """Our promise: a finding is never bare: it has a place, a cure and a fact that shows it."""
    folder = tmp_path / "sound"
    folder.mkdir()
    SOUND["image_folder"](folder)
    for name in ("jpeg cut", "link to nowhere", "jpeg in two splits"):
        FAULTS[name].plant(folder)
    found: list[Finding] = [f for f in scan(folder, tmp_path).findings if f.severity != "info"]
    assert {"truncated", "broken-link", "splits-overlap"} <= {f.code for f in found}
    for finding in found:
        assert finding.where and finding.fix and finding.evidence and finding.message
        assert finding.count > 0


if GENERATOR is not None:

    @pytest.mark.parametrize("format", SOUND)
    def test_every_kind_of_defect_that_shows_is_found(format: str, sound: Path, tmp_path: Path) -> None:
        """The catalogue's promise: all errors but those that only a comparison with the original could show."""
        rows: list[tuple[str, str, str, str]] = []
        missed: set[str] = set()
        for kind, about in generator().K[format].items():
            record = damaged(sound, tmp_path / kind, format, kind)
            if record is None:
                continue
            scanned = scan(tmp_path / kind / "data", tmp_path)
            assert not crashed(scanned), f"{kind}: {scanned.error or scanned.unknowns}"
            assert not executed(record), f"{kind} was executed"
            found = serious(scanned)
            rows.append((kind, about["severity"], about["detect"], ", ".join(found) or scanned.error or ""))
            if about["group"] == "odd":
                assert not found, f"{kind} is no defect"
            elif not found and not refused(scanned, record) and about["severity"] == "error":
                if about["detect"] != "reference" and shows(tmp_path / kind / "data", kind, record):
                    missed.add(kind)
            shutil.rmtree(tmp_path / kind)
        for row in rows:
            print(f"{row[0]:26}{row[1]:9}{row[2]:10}{row[3][:90]}")
        assert missed == NOT_YET_SEEN.get(format, set())
