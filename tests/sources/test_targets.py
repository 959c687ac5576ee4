"""What a table beside files says is to be predicted, where no column is called a label."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dataloader_expert.sources.base import Column, Field, LabelColumns, Source
from dataloader_expert.sources.targets import the_only_one
from tests.making.scanning import scan
from tests.sources.test_layouts import RNG, complaints, opened, picture, values, written


def pictured(folder: Path, columns: dict[str, Any], splits: bool = False) -> Source:
    """Images of a table with these columns, and as many as a fourth of them in a split that it says nothing of."""
    n = len(next(iter(columns.values())))
    for i in range(n):
        picture(folder / ("train" if splits else "images") / f"im{i:04}.png")
    for i in range(n // 4 if splits else 0):
        picture(folder / "test" / f"other{i:04}.png")
    rows = [f"im{i:04}," + ",".join(str(of[i]) for of in columns.values()) for i in range(n)]
    written(folder / "train.csv", "\n".join([",".join(["id", *columns]), *rows]))
    return opened(folder)


SEXES = [str(i % 3 == 0) for i in range(40)]


@pytest.mark.parametrize(
    ("columns", "label"),
    [
        ({"boneage": RNG.integers(1, 228, 40).tolist(), "male": SEXES}, "boneage"),
        ({"male": SEXES}, "male"),
        ({"Whale": [f"w_{i % 7:02}a{i % 7}" for i in range(40)]}, "Whale"),
        ({"note": [f"w_{i:02}a{i}" for i in range(40)]}, None),
        ({"a": RNG.normal(size=40).tolist(), "b": RNG.normal(size=40).tolist(), "sex": SEXES}, None),
    ],
)
def test_the_one_column_beside_attributes(tmp_path: Path, columns: dict[str, Any], label: str | None) -> None:
    assert pictured(tmp_path, columns).label == label


def test_what_says_the_split_is_no_target() -> None:
    values = Column(["a", "b"] * 20)
    assert the_only_one([Field("split", "category", "str")], {"split": values}, ()) is None
    assert the_only_one([Field("kind", "category", "str")], {"kind": values}, ()) == "kind"


def test_what_a_whole_split_lacks_is_not_missing(tmp_path: Path) -> None:
    """Targets of a contest, and what else is said of its training images alone; single blanks there are missing."""
    kinds = [["cat", "dog", "owl"][i % 3] for i in range(40)]
    checked = RNG.integers(0, 2, 40).tolist()
    pictured(tmp_path / "sound", {"label": kinds, "checked": checked}, splits=True)
    pictured(
        tmp_path / "blank",
        {"label": kinds, "checked": ["" if i % 5 == 0 else v for i, v in enumerate(checked)]},
        splits=True,
    )
    assert "missing-values" not in complaints(tmp_path / "sound")
    assert "missing-values" in complaints(tmp_path / "blank")


def test_cells_that_list_labels_are_vectors(tmp_path: Path) -> None:
    kinds = ["clear", "haze", "road", "water"]
    cells = [[k for k in kinds if RNG.random() < 0.5] or ["clear"] for _ in range(60)]
    source = pictured(tmp_path / "tags", {"tags": [" ".join(of) for of in cells]}, splits=True)
    assert (source.label, source.classes) == (None, tuple(kinds))
    assert [np.flatnonzero(v).tolist() for v in values(source, "tags")[-60:]] == [
        [kinds.index(k) for k in of] for of in cells
    ]
    assert any(fact["quantity"]["name"] == "label_sets" for fact in scan(tmp_path / "tags", tmp_path).facts)
    barred = pictured(tmp_path / "barred", {"Finding Labels": ["|".join(of) for of in cells]})
    assert barred.classes == tuple(kinds)
    named = pictured(tmp_path / "named", {"classes": [["red car", "blue car", "red bus"][i % 3] for i in range(60)]})
    assert named.label == "classes" and named.classes == ("blue car", "red bus", "red car")


def test_columns_of_findings_of_which_some_are_not_told(tmp_path: Path) -> None:
    """CheXpert: -1 is uncertain, a blank is not mentioned; patients and studies are no classes."""
    names = ["Edema", "Nodule", "Mass"]
    rows = []
    for p in range(20):
        for study in (1, 2):
            path = f"patient{p:03}/study{study}/view.png"
            picture(tmp_path / path)
            rows.append(f"{path},{'FM'[p % 2]},{','.join(str(RNG.choice(['1.0', '0.0', '-1.0', ''])) for _ in names)}")
    written(tmp_path / "all.csv", "\n".join([f"Path,Sex,{','.join(names)}", *rows]))
    source = opened(tmp_path)
    assert (source.label, source.label_columns) == (None, LabelColumns(tuple(names), 0))
    assert not [f for f in scan(tmp_path, tmp_path).findings if f.code == "missing-values" and f.severity != "info"]


def test_columns_of_one_class_each_beside_attributes(tmp_path: Path) -> None:
    """ISIC 2019: a column for each diagnosis, and the sex of the patient in the same row."""
    of = RNG.integers(0, 4, 60)
    columns: dict[str, Any] = {
        name: (of == i).astype(float).tolist() for i, name in enumerate(("MEL", "NV", "BCC", "AK"))
    }
    source = pictured(tmp_path, columns | {"sex": [["male", "female"][i % 2] for i in range(60)]})
    assert (source.label, source.label_columns) == (None, LabelColumns(("MEL", "NV", "BCC", "AK"), 0))


def test_a_list_with_the_number_of_the_folder_is_no_leak(tmp_path: Path) -> None:
    """Places365; a hospital that is of one class only is one."""
    names = ("airfield", "alley", "arch")
    rows, tabled = [], []
    for k, name in enumerate(names):
        for i in range(30):
            picture(tmp_path / "listed" / "a" / name / f"{i}.png")
            picture(tmp_path / "tabled" / name / f"{name}{i}.png")
            rows.append(f"a/{name}/{i}.png {k}")
            tabled.append(f"{name}/{name}{i}.png,{k}")
    written(tmp_path / "listed" / "all.txt", "\n".join(rows))
    written(tmp_path / "tabled" / "all.csv", "\n".join(["path,hospital", *tabled]))
    assert "label-leaked-by-field" not in complaints(tmp_path / "listed")
    assert "label-leaked-by-field" in complaints(tmp_path / "tabled")


def test_an_image_without_rows_in_a_table_of_boxes_shows_nothing(tmp_path: Path) -> None:
    """A table of one row for each image that lacks one has lost it."""
    rows, ages = [], []
    for i in range(20):
        picture(tmp_path / "wheat" / f"{i:03}a.png")
        picture(tmp_path / "persons" / f"{i:03}a.png")
        rows += [f'{i:03}a,32,24,"[{1 + k}, 2, 9, 8]",x' for k in range(i % 3)]
        ages += [f"{i:03}a,{i % 2}"] if i % 9 else []
    written(tmp_path / "wheat" / "train.csv", "\n".join(["image_id,width,height,bbox,source", *rows]))
    written(tmp_path / "persons" / "train.csv", "\n".join(["image_id,label", *ages]))
    assert "missing-pair" not in complaints(tmp_path / "wheat")
    assert "missing-pair" in complaints(tmp_path / "persons")


def test_several_images_of_a_row_are_one_sample(tmp_path: Path) -> None:
    """Udacity's cars have three cameras; a table that names each image in a row of its own has more samples."""
    rows = []
    for i in range(12):
        names = [f"IMG/{side}_{i:03}.png" for side in ("center", "left", "right")]
        for name in names:
            picture(tmp_path / "car" / name)
            picture(tmp_path / "each" / name)
        rows.append(f"{', '.join(names)},{RNG.normal():.3f}")
    written(tmp_path / "car" / "log.csv", "\n".join(["center,left,right,steering", *rows]))
    each = [f"IMG/{side}_{i:03}.png,{i}" for i in range(12) for side in ("center", "left", "right")]
    written(tmp_path / "each" / "log.csv", "\n".join(["image,at", *each]))
    source = opened(tmp_path / "car")
    assert source.samples == 12 and {"left", "right"} <= getattr(source, "unread", {}).keys()
    assert opened(tmp_path / "each").samples == 36
    assert "missing-values" not in complaints(tmp_path / "car")
