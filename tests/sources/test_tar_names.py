"""Names of members in tar shards."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.registry import open_source


def shard(path: Path, names: list[str]) -> None:
    with tarfile.open(path, "w") as archive:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = 1
            archive.addfile(info, io.BytesIO(b"1"))


def test_an_extension_in_other_letters_is_placed(tmp_path: Path) -> None:
    """Our promise: a sample whose extension differs in case from most is named, for readers ask for one of them."""
    shard(tmp_path / "a.tar", [name for i in range(6) for name in (f"s{i}.txt", f"s{i}.cls")])
    shard(tmp_path / "b.tar", ["t0.TXT", "t0.cls", "t1.txt", "t1.cls"])
    source = open_source(SourceRef(str(tmp_path), (str(tmp_path),)), [])
    found = [p for p in source.problems if p.code == "wrong-extension"]
    assert [(p.where["file"], p.where["key"]) for p in found] == [("b.tar", "t0")]


def test_one_way_of_writing_is_no_problem(tmp_path: Path) -> None:
    """Its twin: capitals throughout are how these data are written."""
    shard(tmp_path / "a.tar", [f"s{i}.TXT" for i in range(6)])
    source = open_source(SourceRef(str(tmp_path), (str(tmp_path),)), [])
    assert [p.code for p in source.problems] == []


def test_recordings_in_shards_are_recordings(tmp_path: Path) -> None:
    """Seen: speech in tar files was an array beside a text, without its rate, and the data set was one of text."""
    import io
    import json
    import tarfile

    import numpy as np
    import soundfile

    with tarfile.open(tmp_path / "a-000.tar", "w") as tar:
        for i in range(6):
            held = io.BytesIO()
            soundfile.write(held, np.random.default_rng(i).normal(0, 0.1, 400 + i), 8000, format="FLAC")
            said = json.dumps({"text": f"what is said in number {i}", "sample_rate": 8000})
            for ext, data in (("flac", held.getvalue()), ("json", said.encode())):
                info = tarfile.TarInfo(f"{i:03d}.{ext}")
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    source = open_source(SourceRef(str(tmp_path), (str(tmp_path),)), [])
    kinds = {f.name: f.kind for f in source.fields}
    assert (kinds["flac"], kinds["sample_rate"], kinds["json.sample_rate"]) == ("audio", "number", "number")
    assert source.modality == "multimodal"


def test_recordings_of_two_rates_have_a_rate_each(tmp_path: Path) -> None:
    """Seen: of a sample with recordings of 8 and 44.1 kHz, both had the rate of the last; those of one rate need no more than one."""
    import io
    import tarfile

    import numpy as np
    import soundfile

    for name, rates in (("unlike", {"low": 8000, "high": 44100}), ("alike", {"low": 8000, "high": 8000})):
        with tarfile.open(tmp_path / f"{name}.tar", "w") as tar:
            for i in range(4):
                for kind, rate in rates.items():
                    held = io.BytesIO()
                    soundfile.write(held, np.random.default_rng(i).normal(0, 0.1, rate // 40), rate, format="WAV")
                    info = tarfile.TarInfo(f"{i:03d}.{kind}.wav")
                    info.size = len(held.getvalue())
                    tar.addfile(info, io.BytesIO(held.getvalue()))
    for name, expected in (
        ("unlike", {"low.sample_rate": 8000, "high.sample_rate": 44100}),
        ("alike", {"sample_rate": 8000}),
    ):
        source = open_source(SourceRef(str(tmp_path / f"{name}.tar"), (str(tmp_path),)), [])
        block = source.decode(source.units[1], source.read(source.units[1]))
        rates = {field: int(of.values[0]) for field, of in block.columns.items() if field.endswith("rate")}
        assert rates == expected and {*rates} <= {f.name for f in source.fields}
