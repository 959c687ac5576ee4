"""What is made of a request before and after it is measured: where a model lies, what is measured first, which classes code may name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dataloader_expert.checks.base import CLASS_COUNTS
from dataloader_expert.errors import RequestError
from dataloader_expert.facts import Evidence, Fact, Facts
from dataloader_expert.lab.surroundings import surroundings
from dataloader_expert.probes.data.layout import LABEL, PRESENT, SAMPLES, STREAM
from dataloader_expert.probes.data.scan import SCANNED
from dataloader_expert.tools.base import Measured
from dataloader_expert.tools.execution import Settings, placed, resolve
from dataloader_expert.tools.recipes.code import loader_code
from dataloader_expert.tools.recipes.recommend_batch_spec import recipe
from dataloader_expert.tools.recipes.suggest_sampler import conclude as suggested
from dataloader_expert.tools.recommend_batch_spec import Request
from dataloader_expert.tools.suggest_sampler import Request as SamplerRequest

SEEN = Evidence("counted", "test")


def test_a_models_file_is_found_from_where_the_request_was_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen: a relative model was looked for in the folder of the source's project, where it is not."""
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "net.py").write_text("class Net: ...\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    roots = (str(tmp_path),)
    assert placed("nets/net.py:Net", roots, "model") == f"{tmp_path}/nets/net.py:Net"
    assert placed("nets.net:Net", roots, "model") == "nets.net:Net"
    with pytest.raises(RequestError, match=r"model: nets/other\.py does not exist"):
        placed("nets/other.py:Net", roots, "model")


@pytest.mark.parametrize(("source", "first"), [("data.py:make", "model"), ("data", "scan")])
def test_a_model_is_fed_before_anything_is_timed(source: str, first: str) -> None:
    """Our promise: what was asked for comes first. A scan of files tells the classes that a batch needs."""
    names = [p.name for p in recipe(Request.model_validate({"source": source, "model": "net.py:Net"}))]
    assert min(("model", "scan"), key=names.index) == first
    assert names.index("batch") < names.index("model") < names.index("batch-sizes") < names.index("memory")


@pytest.mark.parametrize(("read", "written"), [(3, "classes='found'"), (9, "classes=['0', '1']")])
def test_code_names_classes_only_where_all_samples_were_read(read: int, written: str) -> None:
    """Seen: of a scan of 3 files of 90, code named the one class that these had, and raised on the others."""
    given: Any = [
        Fact(CLASS_COUNTS, {"0": 2, "1": 1}, SEEN),
        Fact(LABEL, {"name": "rhythm", "how": "", "declared": None}, SEEN),
        Fact(SAMPLES, 9, SEEN),
        Fact(SCANNED, {"read": read, "failed": 0, "total": 9}, SEEN),
    ]
    assert written in loader_code(Request.model_validate({"source": "data"}), Facts(tuple(given)), {"batch_size": 4})


@pytest.mark.parametrize(("stream", "told"), [(False, True), (True, False)])
def test_a_present_sampler_that_was_not_drawn_is_unknown(stream: bool, told: bool) -> None:
    """Seen: nothing was said of the loader's own sampler where the time had ended before it."""
    present = {"batch_size": 4, "num_workers": 0, "sampler": "RandomSampler", "own_batches": False, "drop_last": False}
    given = Facts((Fact(PRESENT, present, SEEN), Fact(STREAM, stream, SEEN)))
    said = suggested(
        SamplerRequest.model_validate({"source": "data.py:make"}), Measured(given, (), (), surroundings(), 1.0)
    )
    assert ("alternatives: present" in [u.what for u in said.unknowns]) is told


def test_a_link_out_of_the_roots_is_said_to_be_one(tmp_path: Path) -> None:
    """Seen: that a file in the folder that may be read lies outside of it."""
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "x.csv").symlink_to(tmp_path / "x.csv")
    settings = Settings((str(inside.resolve()),), False, None, None)
    for source, said in (("x.csv", "is a link that leads"), ("../x.csv", "lies")):
        with pytest.raises(RequestError, match=f"{said} outside the roots"):
            resolve(Request.model_validate({"source": str(inside / source)}), settings)
