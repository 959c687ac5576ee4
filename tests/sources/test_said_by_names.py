"""What names of columns, and content whatever a file is called, say of what is predicted."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.sources.tables import opened, put
from tests.sources.test_said_in_files import picture, task, text

RNG = np.random.default_rng(11)


def formula() -> str:
    return "".join(RNG.choice([*"CCCCNO", "c1ccccc1", "(=O)"], RNG.integers(4, 16)))


def test_the_one_number_beside_formulas_is_measured_of_them(tmp_path: Path) -> None:
    """Seen: a table of molecules with their solubility had no label."""
    rows = [[f"CPD-{i:05}", formula(), round(float(RNG.normal()), 3), ["TRAIN", "TEST"][i % 5 == 0]] for i in range(60)]
    put(tmp_path / "solubility.csv", ["Compound ID", "SMILES", "logS", "Set"], rows)
    assert opened(tmp_path).label == "logS"


@pytest.mark.parametrize(
    "string",
    [lambda i: f"photo_{i}.jpg", lambda i: f"a place near the river {i}", lambda i: f"A{i:04}"],
    ids=["files", "words", "codes"],
)
def test_one_number_beside_other_strings_is_no_label(tmp_path: Path, string: object) -> None:
    """Our promise: a latitude or a length beside a name is not what is predicted."""
    assert callable(string)
    put(tmp_path / "t.csv", ["thing", "reading"], [[string(i), round(float(RNG.normal()), 3)] for i in range(60)])
    assert opened(tmp_path).label is None


def test_an_outcome_is_the_label_in_the_first_column_beside_strings(tmp_path: Path) -> None:
    """Seen: ``HIV_active`` before SMILES and an id was no label."""
    put(
        tmp_path / "mol.csv",
        ["HIV_active", "smiles", "mol_id"],
        [[int(i % 9 == 0), formula(), f"CHEMBL{i}"] for i in range(60)],
    )
    assert opened(tmp_path).label == "HIV_active"


def test_kinds_of_defects_are_classes(tmp_path: Path) -> None:
    """Seen: a file of each image with ``defect``, its severity, the line and who looked was no label."""
    for i in range(30):
        picture(tmp_path / f"part_{i}.png")
        told = {
            "defect": ["none", "scratch", "dent"][i % 3],
            "severity": i % 4,
            "line": "AB"[i % 2],
            "operator": "RI"[i % 2],
        }
        (tmp_path / f"part_{i}.json").write_text(json.dumps(told))
    assert opened(tmp_path).label == "defect"


def test_a_verdict_of_images_is_their_class(tmp_path: Path) -> None:
    """Seen: of parts that are good or have a defect, the production line in the last column was the label."""
    rows = ["path,quality,subset,line"]
    for i in range(30):
        picture(tmp_path / f"part_{i}.png")
        rows.append(f"part_{i}.png,{['good', 'defect'][i % 5 == 0]},{['train', 'val'][i > 19]},line{i % 3}")
    (tmp_path / "labels.csv").write_text("\n".join(rows))
    assert opened(tmp_path).label == "quality"


def test_the_finest_of_nested_ranks_is_the_class(tmp_path: Path) -> None:
    """Seen: aircraft with variant, family and manufacturer had no label."""
    rows = []
    for i in range(48):
        picture(tmp_path / "images" / f"{i:05}.png")
        rows.append([f"{i:05}.png", f"7{i % 4}7-200", f"family {i % 4 // 2}", f"maker {i % 4 // 2}"])
    put(tmp_path / "planes.csv", ["file", "variant", "family", "manufacturer"], rows)
    assert opened(tmp_path).label == "variant"


def test_objects_of_json_in_texts_are_records(tmp_path: Path) -> None:
    """Seen: questions as JSON in ``.txt`` files were texts of two classes, the levels of the schools."""
    for split in ("train", "test"):
        for level in ("high", "middle"):
            for i in range(4):
                said = {
                    "answers": ["A", "C"],
                    "options": [["a b", "c d"]] * 2,
                    "questions": ["Who _ ?"] * 2,
                    "article": f"One {i} day they {level}. " * 20,
                }
                text(tmp_path / split / level / f"{i}.txt", json.dumps(said))
    source = opened(tmp_path)
    assert (source.label, source.splits, task(source)) == (None, {"train": 8, "test": 8}, "multiple choice")


def test_texts_that_only_begin_with_a_brace_stay_texts(tmp_path: Path) -> None:
    """Our promise: prose and templates with braces are documents."""
    for i in range(4):
        text(tmp_path / f"{i}.txt", "{name} wrote:", "{" + f'"quoted" words {i} follow')
    assert {f.name for f in opened(tmp_path).fields} == {"text"}


def test_code_with_its_documentation_is_for_summarization(tmp_path: Path) -> None:
    """Seen: CodeSearchNet's lines were tabular data without labels."""
    rows = [
        {"repo": f"a/b{i}", "path": f"p{i}.py", "language": "python", "code": f"def f_{i}(x):\n    return x + {i} * 2",
         "docstring": f"Adds twice {i} to the number that is given.", "sha": f"{i:040x}", "partition": "train"}
        for i in range(30)
    ]  # fmt: skip
    text(tmp_path / "train.jsonl", *map(json.dumps, rows))
    assert task(opened(tmp_path)) == "code summarization"


def test_runs_of_pixels_beside_classes_are_masks(tmp_path: Path) -> None:
    """Seen: a table of ``ImageId, ClassId, EncodedPixels`` made images with several labels."""
    from dataloader_expert.tools.recipes.tasks import of_runs

    rows = []
    for i in range(12):
        Image.fromarray(RNG.integers(0, 256, (8, 8, 3), np.uint8)).save(tmp_path / f"{i}.png")
        rows += [[f"{i}.png", c, f"{i + 1} 3 {i + 20} 2"] for c in range(1, 2 + i % 3)]
    put(tmp_path / "train.csv", ["ImageId", "ClassId", "EncodedPixels"], rows)
    fields = [{"name": f.name, "kind": f.kind, "shape": [*f.shape]} for f in opened(tmp_path).fields]
    assert of_runs(fields) is not None


def test_what_befell_few_is_told_by_the_rows_that_say_it(tmp_path: Path) -> None:
    """Seen: ``Survival`` was -1 in every row of a table of some documents, and the label instead of the death that it says too."""
    for i in range(30):
        text(
            tmp_path / "records" / f"{1000 + 7 * i}.txt",
            f"Time,Parameter,Value\n00:00,Age,{40 + i} years and stable so far",
        )
    rows = [[1000 + 7 * i, i % 9, -1, int(i % 5 == 0)] for i in range(24)]
    put(tmp_path / "Outcomes.txt", ["RecordID", "SOFA", "Survival", "In-hospital_death"], rows)
    assert opened(tmp_path).label == "In-hospital_death"


def test_numbers_of_fixed_width_before_a_name_are_columns(tmp_path: Path) -> None:
    """Seen: auto-mpg.data, with a tab before the names alone, was a table of two texts."""
    rows = [
        f'{18 + i % 9}.0   {4 + i % 2 * 4}   {300 + i}.0   {130 + i}.  {70 + i % 9}\t"ford model {i}"'
        for i in range(40)
    ]
    text(tmp_path / "auto-mpg.data", *rows)
    text(
        tmp_path / "auto-mpg.names",
        "1. Title: Auto-Mpg Data",
        "",
        "2. Sources:",
        "   (a) Origin: a library of statistics",
    )
    source = opened(tmp_path)
    assert (source.samples, [f.kind for f in source.fields][:5]) == (40, ["number"] * 5)
    assert (
        next(iter(source.decode(source.units[0], source.read(source.units[0])).columns["f5"].values)) == "ford model 0"
    )
