"""Formats of text that are not read are told by name, and so are files that nothing reads; what is read of JSON."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dataloader_expert.errors import RequestError
from dataloader_expert.sources.magic import text_format
from dataloader_expert.sources.plain import read_json
from tests.sources.test_rows_and_classes import column, opened

TEXTS = {
    "ARFF": "% of 1994\n@RELATION credit\n@ATTRIBUTE age NUMERIC\n@DATA\n3\n4\n",
    "FASTA": ">sp|P1 one\nMKVLAAGGTRSTPLQWERTYIPASD\nMKVLAAGG\n>sp|P2 two\nMKVLAAGGTRSTPLQWERTYIPASD\n",
    "LIBSVM": "-1 3:1 11:0.5\n+1 2:1 7:1e-3\n" * 9,
    "Matrix Market": "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 0.5\n2 3 1\n",
}


@pytest.mark.parametrize(("kind", "text"), TEXTS.items(), ids=TEXTS)
def test_a_format_that_is_not_read_is_told_by_its_name(tmp_path: Path, kind: str, text: str) -> None:
    (tmp_path / "data.txt").write_text(text)
    with pytest.raises(RequestError, match=f"1 {kind} file.* not supported"):
        opened(tmp_path)


@pytest.mark.parametrize(
    "text",
    ["> he said so\n> and more\n", "1 2 3\n4 5 6\n", "12 at 3:15 we left\n13 at 4:20\n", "@relations are hard\n"],
)
def test_prose_and_numbers_are_no_such_format(text: str) -> None:
    assert text_format(text.encode()) is None


def test_a_feature_file_beside_reviews_is_a_note(tmp_path: Path) -> None:
    for split in ("train", "test"):
        for kind in ("pos", "neg"):
            (tmp_path / split / kind).mkdir(parents=True)
            for i in range(9):
                (tmp_path / split / kind / f"{i}_7.txt").write_text(f"A film of {i} words, {kind}.")
        (tmp_path / split / "labeledBow.feat").write_text(TEXTS["LIBSVM"])
        (tmp_path / split / "urls_pos.txt").write_text("http://example.org/1\n")
    source = opened(tmp_path)
    assert (source.format, source.samples) == ("text", 36)
    assert {getattr(p, "what", p.code) for p in source.problems} == {"note"}


def test_graphs_and_sparse_counts_in_several_files_are_told_together(tmp_path: Path) -> None:
    (tmp_path / "graphs").mkdir()
    (tmp_path / "graphs" / "MUTAG_A.txt").write_text("1, 2\n2, 1\n")
    (tmp_path / "graphs" / "MUTAG_graph_indicator.txt").write_text("1\n1\n2\n")
    with pytest.raises(RequestError, match="graphs"):
        opened(tmp_path / "graphs")
    (tmp_path / "cells").mkdir()
    (tmp_path / "cells" / "matrix.mtx").write_text(TEXTS["Matrix Market"])
    (tmp_path / "cells" / "barcodes.tsv").write_text("ACGT-1\nACGA-1\nACCA-1\n")
    with pytest.raises(RequestError, match="several kinds"):
        opened(tmp_path / "cells")
    (tmp_path / "cells" / "genes.tsv").write_text("E1\tA\nE2\tB\nE3\tC\n")
    with pytest.raises(RequestError, match="sparse matrix"):
        opened(tmp_path / "cells")


def test_a_log_is_told_and_code_is_not_unless_it_is_larger_than_the_data(tmp_path: Path) -> None:
    (tmp_path / "labels").mkdir()
    rows = "".join(f"blk_{i},{('Normal', 'Anomaly')[i % 2]}\n" for i in range(40))
    (tmp_path / "labels" / "anomaly_label.csv").write_text("BlockId,Label\n" + rows)
    (tmp_path / "HDFS.log").write_text("081109 INFO dfs.DataNode: Receiving block\n" * 100)
    (tmp_path / "load.py").write_text("import csv\n")
    (tmp_path / "page.html").write_text("<p>a very long page</p>\n" * 400)
    told = {str(p.where["file"]): p for p in opened(tmp_path).problems}
    assert set(told) == {"HDFS.log", "page.html"}
    assert "larger than everything that is" in told["HDFS.log"].message


def test_records_by_their_keys(tmp_path: Path) -> None:
    path = tmp_path / "reviews.json"
    path.write_text(json.dumps({str(i): {"text": f"review {i} of a film", "stars": i % 5} for i in range(20)}))
    source = opened(tmp_path)
    assert (source.samples, [f.name for f in source.fields]) == (20, ["id", "text", "stars"])
    assert column(source, "id") == [str(i) for i in range(20)]
    assert [row["id"] for row in read_json(path)] == column(source, "id")


def test_rows_of_splits_in_one_document(tmp_path: Path) -> None:
    def rows(n: int) -> list[list[str]]:
        return [[f"what is the {i}th word", ("weather", "balance")[i % 2]] for i in range(n)]

    document = {"version": 1, "train": rows(30), "val": rows(8), "oos_train": [["who are you", "oos"]] * 4}
    (tmp_path / "data_full.json").write_text(json.dumps(document))
    source = opened(tmp_path)
    assert (source.splits, source.label) == ({"train": 34, "val": 8}, "f1")
    assert column(source, "f1")[-4:] == ["oos"] * 4 and len(column(source, "f0")) == 42


def test_objects_that_are_no_records_are_refused_as_before(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"optimizer": {"lr": 0.1}, "model": {"layers": 3, "width": 8}}))
    with pytest.raises(RequestError, match="no list of objects"):
        opened(tmp_path)


def test_features_of_a_map_are_the_samples(tmp_path: Path) -> None:
    features = [
        {"type": "Feature", "geometry": {"type": "Point", "coordinates": [i, -i]}, "properties": {"mag": i / 7}}
        for i in range(30)
    ]
    (tmp_path / "quakes.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    source = opened(tmp_path)
    assert (source.format, source.samples) == ("json", 30)
    assert "properties.mag" in {f.name for f in source.fields}


def test_a_table_in_utf_16_is_a_table_and_a_text_a_text(tmp_path: Path) -> None:
    table = "".join(f"{i}\t{i / 7:.3f}\tgrün\n" for i in range(40)).encode("utf-16")
    (tmp_path / "export.txt").write_bytes(table)
    source = opened(tmp_path)
    assert (source.samples, len(source.fields)) == (40, 3)
    (tmp_path / "export.txt").rename(tmp_path / "export.xyzzy")
    with pytest.raises(RequestError, match="UTF-16 table"):
        opened(tmp_path)
    (tmp_path / "export.xyzzy").unlink()
    (tmp_path / "export.txt").write_bytes("A tale of two cities.\nIt was the best of times.\n".encode("utf-16"))
    assert opened(tmp_path).format == "text"


def test_notes_beside_data_that_are_not_read_are_not_taken_for_the_data(tmp_path: Path) -> None:
    """Seen: where a small file stood beside volumes, clouds of points or signals, it was advised to pass format=, which no format helps."""
    for i in range(6):
        (tmp_path / f"{i:06}.bin").write_bytes(np.random.default_rng(i).normal(size=400).astype("f4").tobytes())
    (tmp_path / "calib.txt").write_text("P0: 7.1 0.0 6.0\n")
    with pytest.raises(
        RequestError, match=r"unknown kind \(.bin\) hold most of the data and are not supported: write a Dataset"
    ):
        opened(tmp_path)


def test_stores_of_several_files_are_told_by_name(tmp_path: Path) -> None:
    """Seen: a Zarr store was four files of unknown kind, and the table beside signals was the only thing named."""
    (tmp_path / "weather" / "t2m").mkdir(parents=True)
    (tmp_path / "weather" / ".zgroup").write_text("{}")
    (tmp_path / "weather" / "t2m" / "0.0").write_bytes(bytes(range(256)))
    with pytest.raises(RequestError, match="Zarr"):
        opened(tmp_path / "weather")
    (tmp_path / "signals").mkdir()
    (tmp_path / "signals" / "7_lr.hea").write_text("7_lr 2 100 1000\n")
    (tmp_path / "signals" / "7_lr.dat").write_bytes(bytes(range(256)) * 9)
    (tmp_path / "signals" / "database.csv").write_text("id,age\n7,41\n")
    with pytest.raises(RequestError, match=r"WFDB.* or pass database\.csv"):
        opened(tmp_path / "signals")


def test_meshes_and_signals_are_named(tmp_path: Path) -> None:
    """Seen: meshes were called documents, and signals whose headers are ASCII were called texts."""
    for i in range(9):
        path = tmp_path / "meshes" / ("chair", "desk")[i % 2] / f"{i}.off"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("OFF\n3 1 0\n" + f"0 0 {i}\n1 0 0\n0 1 0\n3 0 1 2\n")
        head = f"{'0':8}{'X X X X':80}{'Startdate 12-AUG-2009':80}12.08.0916.15.00{'3072':8}{'EDF+C':44}{61:<8}{1:<8}{11:<4}"
        signals = tmp_path / "signals" / f"S{i:03}.edf"
        signals.parent.mkdir(exist_ok=True)
        signals.write_bytes(head.encode() + b" " * 400 + bytes(range(256)))
    for folder, told in (("meshes", "mesh (OFF)"), ("signals", "signals in EDF")):
        with pytest.raises(RequestError) as refused:
            opened(tmp_path / folder)
        assert told in str(refused.value)


@pytest.mark.parametrize("fixed", [True, False])
def test_records_of_fixed_width_are_told(tmp_path: Path, fixed: bool) -> None:
    """Seen: a weather station's days in columns of characters were called documents; wrapped prose has lines of many lengths."""
    draw = np.random.default_rng(3)
    for i in range(8):
        values = draw.integers(-99, 400, (40, 9))
        lines = [
            "US000947282018TMAX" + "".join(f"{v:5}  S" if fixed else f" {v} degrees" for v in row) for row in values
        ]
        (tmp_path / f"USW{i:08}.dly").write_text("\n".join(lines) + "\n")
    source = opened(tmp_path)
    assert source.format == "text"
    assert ("records" in source.unread) == fixed  # type: ignore[attr-defined]  # sources of files note it


def test_spreadsheets_beside_a_note_are_the_data(tmp_path: Path) -> None:
    """Seen: format=text was advised for the note, and that spreadsheets are not read was not said."""
    for i in range(2):
        (tmp_path / f"survey_{i}.xlsx").write_bytes(b"PK\3\4" + bytes(3000))
    (tmp_path / "notes.txt").write_text("Asked in March. Two rounds, each with its own sheet.\n")
    with pytest.raises(
        RequestError, match="spreadsheet files hold most of the data and are not supported: export the rows"
    ):
        opened(tmp_path)
