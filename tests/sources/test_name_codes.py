"""Codes in the names of files: told, and taken for the label only where a table says the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dataloader_expert.sources.name_codes import codes_in_names
from tests.making.scanning import scan
from tests.sources.noise import picture
from tests.sources.tables import opened

RNG = np.random.default_rng()


def test_codes_of_one_pattern_are_told_and_not_taken(tmp_path: Path) -> None:
    """Seen: of names such as 03-01-05-01 nothing was said but that there is no label."""
    for i in range(60):
        picture(tmp_path / f"03-01-{1 + i % 8:02}-{1 + i % 2:02}-{i:02}.png", RNG)
    source = opened(tmp_path)
    assert source.label is None
    assert "part 3 has 8 values, part 4 has 2 values" in source.label_how
    assert [field.name for field in source.fields] == ["image"]


def test_a_few_words_are_named() -> None:
    """Seen: part 3 has 2 values was said of NOK and OK."""
    told = codes_in_names([f"2024{i // 6:04}_cam{i % 3}_{('OK', 'NOK')[i // 3 % 2]}_{i:06}.png" for i in range(60)])
    assert told is not None and "part 3 has 2 values (NOK, OK)" in told


def test_two_parts_of_which_each_stands_with_each_are_told() -> None:
    """Seen: of objects turned by equal angles, obj3__14, nothing was said."""
    told = codes_in_names([f"obj{i}__{angle}.png" for i in range(1, 11) for angle in range(0, 60, 5)])
    assert told is not None and "part 1 has 10 values" in told


def test_a_table_of_few_of_the_files_gives_no_label(tmp_path: Path) -> None:
    """Seen: a table of names of sentences, two of which are names of files as well, gave two classes, and the codes were not told."""
    names = [f"{1001 + i // 12}_{('DFA', 'IEO')[i % 2]}_{('ANG', 'SAD', 'HAP')[i % 3]}_{i % 12:02}" for i in range(96)]
    for name in names:
        picture(tmp_path / f"{name}.png", RNG)
    (tmp_path / "sentences.csv").write_text(f"number,filename\n1,{names[0]}\n2,{names[1]}\n")
    source = opened(tmp_path)
    assert source.label is None and "part 3 has 3 values" in source.label_how


def test_labels_of_few_files_that_are_called_so_stay_labels(tmp_path: Path) -> None:
    """Our promise: where few are labelled, a column called label is the label."""
    for i in range(60):
        picture(tmp_path / f"{i * 37:05}.png", RNG)
    rows = "".join(f"{i * 37:05}.png,{('ok', 'crack')[i % 2]}\n" for i in range(12))
    (tmp_path / "labels.csv").write_text(f"file,label\n{rows}")
    assert opened(tmp_path).label == "label"


@pytest.mark.parametrize(
    "names",
    [
        [f"{i:06}.png" for i in range(60)],
        [f"IMG_2024_{i:04}.png" for i in range(60)],
        [f"{RNG.bytes(4).hex()}-{RNG.bytes(4).hex()}-{RNG.bytes(4).hex()}.png" for _ in range(60)],
        [f"a{'_b' * (i % 3)}_{i}.png" for i in range(60)],
        [f"COCO_{('train', 'val')[i % 2]}2014_{i:012}.jpg" for i in range(60)],
    ],
    ids=["numbers", "a camera's", "hashes", "of several lengths", "of splits"],
)
def test_names_without_codes_tell_nothing(names: list[str]) -> None:
    """Our promise: only parts that recur are offered."""
    assert codes_in_names(names) is None


def test_classes_in_names_that_a_table_numbers_are_the_label(tmp_path: Path) -> None:
    """Seen: breeds that names of files tell, and a list without a header numbers, were a field f1."""
    kinds = ["Abyssinian", "beagle", "Sphynx"]
    rows = [(f"{kind}_{i}", number, 1 + (kind == "beagle")) for number, kind in enumerate(kinds, 1) for i in range(20)]
    for name, *_ in rows:
        picture(tmp_path / "images" / f"{name}.png", RNG)
    told = "#Image CLASS-ID SPECIES\n#ID: 1:3 Class\n" + "".join(f"{name} {n} {s}\n" for name, n, s in rows)
    (tmp_path / "annotations").mkdir()
    (tmp_path / "annotations" / "list.txt").write_text(told)
    source = opened(tmp_path)
    assert (source.label, source.classes) == ("label", ("Abyssinian", "Sphynx", "beagle"))
    assert {field.name for field in source.fields} == {"image", "f2", "label"}


def test_a_number_below_zero_in_a_name_is_not_odd(tmp_path: Path) -> None:
    """Seen: the junk of a data set that numbers persons, -1, was called an option. A dash before other names still is."""
    for i in range(12):
        picture(tmp_path / f"{i % 4 - 1}_c1s{i}_0.png", RNG)
    assert not [p for p in opened(tmp_path).problems if p.code == "odd-name"]
    picture(tmp_path / "-rf.png", RNG)
    assert [p.where["file"] for p in opened(tmp_path).problems if p.code == "odd-name"] == ["-rf.png"]


def test_classes_that_are_apart_by_split_are_told_once(tmp_path: Path) -> None:
    """Seen: that no class is in two splits was told again for each split, as a drift."""
    for k, split in enumerate(("train", "val", "test")):
        for kind in range(2):
            for i in range(15):
                picture(tmp_path / split / f"class{2 * k + kind}" / f"{i}.png", RNG)
    told = [f.code for f in scan(tmp_path, tmp_path).findings if f.code in ("label-drift", "class-missing-in-split")]
    assert told == ["class-missing-in-split"]
