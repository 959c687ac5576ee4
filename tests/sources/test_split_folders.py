"""Which folders are splits, whatever language they are named in, and which are classes."""

from __future__ import annotations

import pytest

from dataloader_expert.sources.layout import read_folders, split_in_name, split_of_folder


def paths(**counts: int) -> list[str]:
    """Files in folders, whose names are given with two underscores for each slash."""
    return [f"{folder.replace('__', '/')}/{i}.png" for folder, n in counts.items() for i in range(n)]


def told(**counts: int) -> tuple[dict[str | None, int], list[str]]:
    splits, _, names = read_folders(paths(**counts))
    return {split: splits.count(split) for split in dict.fromkeys(splits)}, names


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("Trainingsdaten", "train"),
        ("entrenamiento", "train"),
        ("entraînement", "train"),
        ("validación", "validation"),
        ("validac\u0327a\u0303o", "validation"),
        ("训练集", "train"),
        ("测试集", "test"),
        ("prueba", "test"),
        ("Prüfung", "test"),
        ("Pruefdaten", "test"),
        ("im2latex_validate", "validation"),
        ("검증", "validation"),
        ("Müll", None),
        ("数据", None),
        ("trainer", None),
    ],
)
def test_words_of_other_languages(name: str, split: str | None) -> None:
    assert split_of_folder(name.removeprefix("im2latex_")) == split
    assert split_in_name(f"{name}.csv") == split


def test_siblings_with_the_same_classes_are_splits_by_how_their_names_begin() -> None:
    """Our promise: a language that nobody listed is understood where folders hold the same classes."""
    splits, names = told(Trainierend__a=9, Trainierend__b=9, Testlauf__a=3, Testlauf__b=3)
    assert (splits, names) == ({"train": 18, "test": 6}, ["a", "b"])


def test_places_with_the_same_classes_are_no_splits() -> None:
    """Domains, cameras and magnifications hold the same classes too."""
    for names in (("amazon", "dslr", "webcam"), ("40X", "100X"), ("fold1", "fold2"), ("left", "right")):
        counts = {f"{name}__{kind}": 9 for name in names for kind in ("mug", "pen")}
        assert told(**counts) == ({None: 18 * len(names)}, ["mug", "pen"])


@pytest.mark.parametrize("root", ["", "data__"])
def test_folders_beside_a_split_that_hold_the_same_are_splits(root: str) -> None:
    """Our promise: the largest is for training, and a flat one is no class."""
    counts = {"gros__sain": 40, "gros__malade": 30, "dev__sain": 9, "dev__malade": 8, "sans": 20}
    splits, names = told(**{root + name: n for name, n in counts.items()})
    assert (splits, names) == ({"train": 70, "dev": 17, "sans": 20}, ["malade", "sain"])


def test_folders_beside_splits_that_hold_other_things_are_in_none() -> None:
    splits, _ = told(train__a=9, train__b=9, test__a=5, test__b=5, docs__figures=3, docs__logos=3)
    assert splits == {"train": 18, "test": 10, None: 6}
    splits, _ = told(Train__0=9, Train__1=9, Test=9, Meta=2)
    assert splits == {"train": 18, "test": 9, None: 2}


def test_words_for_splits_are_no_classes() -> None:
    assert told(set__train=9, set__test=9, set=2)[1] == []


def test_evaluation_is_a_split_beside_training_alone() -> None:
    """FreiHAND; as a class it stands beside others."""
    assert told(training__rgb=20, evaluation__rgb=5) == ({"train": 20, "eval": 5}, [])
    assert told(evaluation=9, repair=9) == ({None: 18}, ["evaluation", "repair"])
    assert told(train__evaluation=9, train__repair=9, test__evaluation=4, test__repair=4)[1] == ["evaluation", "repair"]


def test_a_short_word_for_validation_is_a_split_of_files_and_beside_splits_alone() -> None:
    """LETOR's ``vali.txt``; as a folder beside others it is a class."""
    assert split_in_name("vali.txt") == "vali"
    assert told(vali=9, bali=9, mali=9) == ({None: 27}, ["bali", "mali", "vali"])
    assert told(train__vali=9, train__bali=9)[1] == ["bali", "vali"]
    assert told(train__a=9, train__b=9, test__a=5, test__b=5, vali__a=4, vali__b=4)[0] == {
        "train": 18,
        "test": 10,
        "vali": 8,
    }
