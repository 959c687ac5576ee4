"""Third parties' formats, known by their entry points."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dataloader_expert.facts import Unknown
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.registry import open_source, plugins

READER = """
from dataloader_expert.sources.base import Block, Column, Field, Source, Unit


class Rot13(Source):
    format = "rot13"
    kinds = frozenset({"text"})
    modality = "text"

    @classmethod
    def open(cls, listing, ref):
        source = cls()
        source.listing = listing
        source.fields = (Field("text", "text", "str"),)
        source.units = tuple(Unit(i, e.path, i, 1, e.size) for i, e in enumerate(listing.of(cls.kinds)))
        return source

    def read(self, unit):
        return self.listing.read(unit.file)

    def decode(self, unit, raw):
        import codecs

        return Block(unit, {"text": Column([codecs.decode(raw.decode(), "rot13")])})
"""


def installed(folder: Path, points: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution with these entry points, as an installer leaves it."""
    about = folder / "rot13-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: rot13\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[dataloader_expert.sources]\n{points}\n")
    (folder / "rot13_reader.py").write_text(READER)
    monkeypatch.syspath_prepend(str(folder))


def test_a_third_partys_format_is_read_by_its_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our promise: a format plugs in without a change of ours."""
    installed(tmp_path, "rot13 = rot13_reader:Rot13", monkeypatch)
    data = tmp_path / "data"
    data.mkdir()
    (data / "a.txt").write_text("uryyb")
    source = open_source(SourceRef(str(data), (str(tmp_path),), format="rot13"), [])
    assert source.decode(source.units[0], source.read(source.units[0])).columns["text"].values == ["hello"]
    sys.modules.pop("rot13_reader", None)


def test_a_broken_plug_in_is_an_unknown_and_ours_still_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our promise: a third party's fault never stops a reading of ours."""
    installed(tmp_path, "rot13 = no_such_module:Rot13", monkeypatch)
    unknowns: list[Unknown] = []
    assert "rot13" not in plugins(unknowns)
    assert [u.what for u in unknowns] == ["format rot13"]
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,4\n")
    assert open_source(SourceRef(str(tmp_path / "a.csv"), (str(tmp_path),)), []).samples == 2
