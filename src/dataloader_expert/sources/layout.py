"""Splits and classes from the names of folders and files."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from dataloader_expert.sources.levels import levels_of

FOREIGN = {
    "train": "trainset trainingsdaten trainingsset entrenamiento entrainement apprentissage addestramento treino treinamento обучение 训练 训练集 訓練"
    " 学習 학습 훈련",
    "validation": "validate validierung validierungsdaten validatie validacion validacao validazione валидация 验证 验证集 検証 검증",
    "test": "testdaten testset prufung prufdaten pruefung pruefdaten prueba pruebas teste 测试 测试集 テスト 테스트 시험",
}
"""Words of other languages, without accents."""
# Folder names are kept as the user wrote them, except for spellings of train and test, and for other languages.
SPLITS = {
    **{word: split for split, of in FOREIGN.items() for word in of.split()},
    "train": "train",
    "training": "train",
    "val": "val",
    "valid": "valid",
    "validation": "validation",
    "dev": "dev",
    "test": "test",
    "t10k": "test",  # of MNIST
    "testing": "test",
    "devtest": "devtest",
    "dev-test": "devtest",
    "dev_test": "devtest",
    "eval": "eval",
    "holdout": "holdout",
}
VALIDATION = {"val", "vali", "valid", "validation", "dev"}
"""Names of the split for validation, of which a data set has one as a rule."""
TRAINED = {"data", "base"}
"""Suffixes of what is for training beside a file of the same name for tests: ``adult.data``, MovieLens's ``u1.base``."""
SHORTENED = {"trn": "train", "tst": "test", "vali": "vali"}
"""The same of files, shortened (``vali.txt`` of LETOR), in names without a word for a split: beside one they mean something else, and so
may folders."""
DECATHLON = {"imagestr": "train", "labelstr": "train", "imagests": "test", "labelsts": "test"}
"""Folders of the Medical Segmentation Decathlon and of nnU-Net."""
AROUND = {
    "set", "data", "split", "list", "lists", "ids", "names", "images", "image", "imgs", "img", "photos", "pictures", "files",
    "samples", "crops", "audio", "wavs", "clips", "large", "small", "full", "bounding", "box", "boxes",
}  # fmt: skip
"""Words beside a split's in the name of its folder that change nothing."""
EVALUATION = "evaluation"
"""A word that tells a split only alone or before one of ``AROUND``, as in ``evaluation_set``: cars and courses are evaluated too."""
RETRIEVED = {"query", "gallery"}
"""Folders beside those of splits: what is searched for, and where."""
FEW_SHOT = {"background": "train", "evaluation": "eval"}
"""Folders of learning from few examples, as of Omniglot: neither word alone names a split."""
UNLABELLED = {"unsup", "unlabeled", "unlabelled", "unsupervised"}
"""Folders of samples without a class, beside those of the classes."""
ABOUT_CLASSES = {"meta"}
"""Folders beside those of splits with a picture of what each class is, such as the signs of GTSRB."""
BY_FOLDER = "from the folder names"
"""How a label is known that the class folders of the files name."""
MOST_ALONE = 10
"""The most class folders that may hold a file each."""
HOLDERS = {"images", "image", "imgs", "img", "jpegimages"}
"""Folders that hold files and say nothing of them, such as those in the folder of each class."""
PART_WORDS = {"part", "shard", "chunk", "batch", "piece", "block", "set", "subset", "fold", "of"}
"""Words beside the number of a file or folder that is a part of a larger whole."""
_SHARD = re.compile(r"[-_.]\d+(?:[-_]of[-_]\d+)?$")
_TOKEN = re.compile(
    r"t10k|(?i:dev[-_]test)(?![a-z])|[xyXY](?=(?:train|test|val|valid)(?![a-z]))|[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+"
    r"|[^\W\d_a-zA-Z]+"
)
BEGINNINGS = {"train": "train", "test": "test", "valid": "validation"}
"""How words for splits begin in many languages, which says enough where folders that hold the same ones are called so."""


def tokens(name: str) -> list[str]:
    """The words and numbers of a file's name, in lower case: ``ytrain_2.csv`` is y, train, 2 and csv."""
    return [m.lower() for m in _TOKEN.findall(_without_accents(name))]


def _without_accents(name: str) -> str:
    if name.isascii():
        return name
    plain = (c for c in unicodedata.normalize("NFD", name) if unicodedata.category(c) != "Mn")
    return unicodedata.normalize("NFC", "".join(plain))


def is_form(path: str) -> bool:
    """Whether a file is one to fill in with predictions, such as ``sample_submission.csv``."""
    return "submission" in tokens(path.rpartition("/")[2])


def is_part(folder: str) -> bool:
    """Whether a name is that of a part of a whole and nothing else: ``set-a``, ``part2``."""
    *said, last = tokens(folder) or [""]
    part = [word for word in said if word not in SPLITS]
    return bool(part) and {*part} <= PART_WORDS and (last.isdigit() or len(last) == 1)


def split_in_name(name: str) -> str | None:
    """The split in a file name or key: ``x_train.npy``, ``train-00000-of-00004.parquet``; else None."""
    said = tokens(name.rsplit(".", 1)[0])
    found = [SPLITS[t] for t in said if t in SPLITS]
    found = found or [SHORTENED[t] for t in said if t in SHORTENED]
    if EVALUATION in said and not found:
        after = said[said.index(EVALUATION) + 1 :]
        return "eval" if said == [EVALUATION] or (after and after[0] in AROUND) else None
    return found[0] if len(set(found)) == 1 else None


def written_names(path: str) -> set[str]:
    """The names by which a file's own says what it is a part of: its folders', its own, and this without the number of a shard."""
    *folders, name = path.split("/")
    stem = name.partition(".")[0]
    return {*folders, name, stem, _SHARD.sub("", stem)}


def without_shared_beginning(names: Collection[str]) -> dict[str, str]:
    """The names by themselves, without the words that all begin with, where a word is left of each: ``bitmap_cat`` and ``bitmap_dog``."""
    first, last = min(names, default=""), max(names, default="")
    n = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), 0)
    shared = first[:n]
    shared = shared[: max(shared.rfind("_"), shared.rfind("-")) + 1]
    sound = all(name[len(shared) : len(shared) + 1].isalpha() for name in names)
    return {name: name[len(shared) :] if sound else name for name in names}


def splits_of_suffixes(paths: Sequence[str]) -> dict[str, str]:
    """The splits of files that only their suffixes tell, as those of the UCI repository: ``adult.data`` and ``adult.test``."""
    ends = {path: path.rpartition(".")[::2] for path in paths}
    found = {path: SPLITS[suffix] for path, (_, suffix) in ends.items() if suffix in SPLITS}
    stems = {ends[path][0] for path in found}
    return found | {path: "train" for path, (stem, suffix) in ends.items() if suffix in TRAINED and stem in stems}


def split_of_folder(name: str) -> str | None:
    """The split that a folder holds: ``train``, ``train2017``, ``val_images``, ``test-set``; else None."""
    if name.lower() in DECATHLON:
        return DECATHLON[name.lower()]
    said = tokens(name)
    found = {SPLITS[t] for t in said if t in SPLITS}
    others = [t for t in said if t not in SPLITS and t not in AROUND and not t.isdigit()]
    whole = len("".join(said)) == len(re.sub(r"[_\-. ]", "", _without_accents(name)))  # no sign of another script
    return found.pop() if len(found) == 1 and not others and whole else None


def without_split(name: str) -> str:
    """The name without its split word and the separators around it: ``x_train`` → ``x``."""
    parts = [p for p in re.split(r"[_\-. /]+", name) if p.lower() not in SPLITS]
    return "_".join(parts)


@dataclass(frozen=True)
class Folders:
    """What the folders of files say of each: its split, its class and its group, None where they do not; ``names``: of the classes."""

    splits: list[str | None]
    labels: list[str | None]
    names: list[str]
    groups: list[str | None]


def read_folders(paths: Sequence[str]) -> tuple[list[str | None], list[str | None], list[str]]:
    """Splits and classes of files from their folders: ``split/class/file`` or ``class/split/file``.

    Returns:
        The split and class of each path (None if the folders do not say), and the names of the class folders.
        Folders count as classes if the files are in at least two different ones.
    """
    found = folders_of(paths)
    return found.splits, found.labels, found.names


def folders_of(paths: Sequence[str]) -> Folders:
    """The same, with groups."""
    splits, parts = _without_splits(paths)
    inside = [[folder for folder in p if folder.lower() not in HOLDERS] for p in parts]
    held = any(p[-1].lower() in HOLDERS and len(p) > 1 for p in parts if p)  # alone it may be a class
    if held and 1 < len({p[-1] for p in inside if p}) <= len(parts) // 3:  # else each sample has a folder of its own
        parts = inside
    groups: list[str | None] = [None] * len(parts)
    if _clips(parts, splits):
        groups, parts = [p[-1] for p in parts], [p[:-1] for p in parts]
    parts = _without_shared(parts)
    labels: list[str | None] = [p[-1] if p else None for p in parts]
    levels = levels_of(parts)
    if levels is not None:
        labels, groups = [levels.class_of(p) for p in parts], [levels.group_of(p) for p in parts]
    labels = _without_ancestors(parts, labels)
    by_split = any(split is not None for split in splits)
    aside = {
        label
        for label, split in zip(labels, splits, strict=True)
        if label is not None
        and _is_no_class(label)
        and (label.lower() not in ABOUT_CLASSES or (by_split and split is None))
    }
    if len(aside) < len({*labels}) - len(aside):
        labels = [None if x in aside else x for x in labels]
    names = sorted({x for x in labels if x is not None})
    said = {name: split_of_folder(name) for name in names}
    if len(names) > 1 and len({*said.values()} - {None}) == len(names):  # words of splits are no classes
        within = [None if label is None else said[label] for label in labels]
        return Folders([a or b for a, b in zip(splits, within, strict=True)], [None] * len(labels), [], groups)
    alone = len(names) > MOST_ALONE and 10 * len(names) > 9 * sum(
        x is not None for x in labels
    )  # a folder for each file
    if alone or len(names) < 2 or sum(x is None for x in labels) > len(labels) // 2:
        return Folders(splits, [None] * len(labels), [], groups)
    return Folders(splits, labels, names, groups)


def _without_splits(paths: Sequence[str]) -> tuple[list[str | None], list[list[str]]]:
    """The split of each file, and its other folders."""
    parts = [p.split("/")[:-1] for p in paths]
    depth = max((len(p) for p in parts), default=0)
    level = {i: _splits_of([p[i] if len(p) > i else None for p in parts]) for i in range(depth)}
    at = next((i for i in range(depth) if all(level[i])), None)
    splits: list[str | None] = [None] * len(parts)
    if at is not None:
        besides = _beside_splits([p[at] for p in parts], level[at]) if {*map(len, parts)} == {at + 1} else None
        return level[at], [p[:at] + ([besides[p[at]]] if besides else []) + p[at + 1 :] for p in parts]
    if all(not p for p in parts) and len(paths) > 1:
        named = [split_in_name(p) for p in paths]
        return (list(named) if all(named) and len(set(named)) > 1 else splits), parts
    outermost = _where_apart(parts)
    inside = [p[outermost:] for p in parts]
    named = level.get(outermost, [])
    named = named if any(named) else _told_by_beginnings(inside)
    if any(named):
        # some files are outside the split folders: those inside keep their split
        splits = [split or rest for split, rest in zip(named, _splits_outside(inside, named), strict=True)]
        return splits, [
            p if split is None else p[:outermost] + p[outermost + 1 :] for p, split in zip(parts, splits, strict=True)
        ]
    return splits, parts


def _beside_splits(folders: Sequence[str], splits: Sequence[str | None]) -> dict[str, str] | None:
    """What the names of folders say beside their splits, such as A and B of ``trainA``, ``trainB``, ``testA`` and ``testB``, if each split
    has the same several such words."""
    said = {
        name: [m for m in _TOKEN.findall(name) if m.lower() not in {*SPLITS, *AROUND} and not m.isdigit()]
        for name in {*folders}
    }
    of_split = {*zip(folders, splits, strict=True)}
    shared = {
        split: set.intersection(*({*said[name]} for name, of in of_split if of == split)) for _, split in of_split
    }
    rest = {name: "_".join(word for word in said[name] if word not in shared[split]) for name, split in of_split}
    found: dict[str | None, set[str]] = {}
    for name, split in of_split:
        found.setdefault(split, set()).add(rest[name])
    alike = len(found) > 1 and len({frozenset(of) for of in found.values()}) == 1
    return rest if alike and len({*rest.values()}) > 1 and "" not in rest.values() else None


def _where_apart(parts: Sequence[Sequence[str]]) -> int:
    """The outermost level at which not all files are in the same folder."""
    return len(list(takewhile(lambda names: len({*names}) == 1, zip(*parts, strict=False))))


def _told_by_beginnings(parts: Sequence[Sequence[str]]) -> list[str | None]:
    """The splits of folders that hold the same folders, as the same classes, by how their names begin in whatever language; None of all
    where no name does, or two do alike: they may be places or cameras."""
    below = _below(parts)
    if len(below) < 2 or "" in below or len(alike := {frozenset(of) for of in below.values()}) > 1 or len(*alike) < 2:
        return [None] * len(parts)
    found = {
        name: next((split for begin, split in BEGINNINGS.items() if name.lower().startswith(begin)), None)
        for name in below
    }
    told = [split for split in found.values() if split is not None]
    return [found[p[0]] if len({*told}) == len(told) else None for p in parts]


def _below(parts: Sequence[Sequence[str]]) -> dict[str, Counter[str]]:
    """By outermost folder the numbers of files in each folder below."""
    below: dict[str, Counter[str]] = {}
    for p in parts:
        below.setdefault(p[0] if p else "", Counter())["/".join(p[1:])] += 1
    return below


def _without_ancestors(parts: Sequence[Sequence[str]], labels: list[str | None]) -> list[str | None]:
    """The classes, without those of files that lie in a folder which holds the folders of all others."""
    held = {tuple(p) for p in parts}
    if len({len(p) for p in held}) < 2:
        return labels
    shortest = min(held, key=len)
    inside = {p for p in held if p != shortest}
    above = len(inside) > 1 and all(p[: len(shortest)] == shortest for p in inside)
    return [None if above and tuple(p) == shortest else label for p, label in zip(parts, labels, strict=True)]


def _without_shared(parts: list[list[str]]) -> list[list[str]]:
    """The folders without those around all samples, which are no class of the samples that lie in no other, if others are classes."""
    shared = 0
    while any(len(p) > shared + 1 for p in parts) and len({p[shared] if len(p) > shared else "" for p in parts}) == 1:
        shared += 1
    inside = [p[shared:] for p in parts]
    return inside if len({p[-1] for p in inside if p}) > 1 else parts


def _splits_outside(parts: Sequence[Sequence[str]], splits: Sequence[str | None]) -> list[str | None]:
    """The split of files in other folders than those of splits, if each of these is one too.

    A folder that holds the same folders and more files than any other is for training, if no other is, as ``our485/low`` and
    ``our485/high`` beside ``eval15/low`` and ``eval15/high``. Another one that does is a split by its own name; so is the only one that
    holds files and no folders where all others hold the same: it is not labelled.
    """
    below = _below(parts)
    outer = {p[0] if p else "" for p, split in zip(parts, splits, strict=True) if split is None}
    flat = [name for name, of in below.items() if {*of} == {""}]
    inner = {frozenset(of) for name, of in below.items() if name not in outer and name not in flat}
    none: list[str | None] = [None] * len(parts)
    if len(inner) != 1 or any("" in of for of in inner):
        return none
    [held] = inner
    alike = [name for name in outer if {*below[name]} == held]
    alone = [name for name in flat if name in outer and name and not _is_no_class(name)]
    if len(alike) + len(alone) < len(outer) or (alone and len(flat) > 1):
        return none
    found = {name: name.lower() for name in (*alike, *alone)} if len(held) > 1 else {}
    largest = max(below, key=lambda name: below[name].total())
    if (
        "train" not in splits
        and largest in alike
        and sum(below[name].total() >= below[largest].total() for name in below) == 1
    ):
        found[largest] = "train"
    return [found.get(p[0]) for p in parts]


def in_aside(path: str) -> bool:
    """Whether the file lies in a folder that stands aside from the classes."""
    return "/" in path and _is_no_class(path.rsplit("/", 2)[-2])


def _is_no_class(folder: str) -> bool:
    """Whether a folder beside those of classes is called as none is: ``_background_noise_``, ``unsup``."""
    return folder.startswith("_") or folder.lower() in UNLABELLED | ABOUT_CLASSES


def splits_of_files(paths: Sequence[str]) -> list[str | None]:
    """The split of each file of many samples: by its name, else by its folder."""
    folders, _, _ = read_folders(paths)
    named = [split_in_name(path.rpartition("/")[2]) for path in paths]
    if _numbered(paths, named):
        return folders
    return [split or folder for split, folder in zip(named, folders, strict=True)]


def _numbered(paths: Sequence[str], splits: Sequence[str | None]) -> bool:
    """Whether files differ only by a number beside a word that means something else as well, as ``dev-01`` and ``dev-02`` of two
    devices or ``test-01`` of a series of tests, and no other split is there. Shards say how many they are."""
    said = [tokens(path.rpartition("/")[2].partition(".")[0].lower()) for path in paths]
    rest = {tuple(token for token in of if not token.isdigit()) for of in said}
    alone = len(paths) > 1 and len({*splits}) == 1
    return alone and rest in ({("dev",)}, {("test",)}) and all(len(of) == 2 for of in said)


def beside_folders(paths: Sequence[str]) -> set[str]:
    """Files beside the folders of splits or classes in which all others lie, such as a preview: fewer than any such folder holds, or
    they would be a split or a class of their own; and each that is alone beside several such folders."""
    alone = _alone_beside_folders(paths)
    paths = [path for path in paths if path not in alone]
    return alone | _outside(paths)


def _alone_beside_folders(paths: Sequence[str]) -> set[str]:
    """The one file of a folder in which several folders of more files lie, such as a summary beside ``ham`` and ``spam``."""
    held: dict[str, list[str]] = {}
    for path in paths:
        held.setdefault(path.rpartition("/")[0], []).append(path)
    below = Counter(folder.rpartition("/")[0] for folder, of in held.items() if "/" in folder and len(of) > 1)
    return {of[0] for folder, of in held.items() if len(of) == 1 and below[folder] > 1}


def _outside(paths: Sequence[str]) -> set[str]:
    splits, labels, _ = read_folders(paths)
    outside = {path for path in paths if "/" not in path}
    inside = [(path, *of) for path, *of in zip(paths, splits, labels, strict=True) if path not in outside]
    if not outside or not inside or any(split is None and label is None for _, split, label in inside):
        return set()
    return outside if len(outside) < min(Counter((split, label) for _, split, label in inside).values()) else set()


def _clips(parts: Sequence[Sequence[str]], splits: Sequence[str | None]) -> bool:
    """Whether the innermost folders hold the parts of one thing each, as the frames of a clip do: each is in one split and in one
    folder of a class, and those of the classes are in every split."""
    if not parts or any(len(p) < 2 for p in parts) or len({*splits}) < 2 or None in splits:
        return False
    inner = {(tuple(p), split) for p, split in zip(parts, splits, strict=True)}
    apart = len({of[-1] for of, _ in inner}) == len(inner)
    outer = {(of[-2], split) for of, split in inner}
    classes = {name for name, _ in outer}
    return apart and 1 < len(classes) < len(inner) and len(outer) == len(classes) * len({*splits})


def _splits_of(folders: list[str | None]) -> list[str | None]:
    """The split of each of these folders; none of them if two hold the same split and are not just called so, as ``test1`` and
    ``test2``, which may be classes or folds."""
    found = {name: split_of_folder(name) for name in {*folders} if name is not None}
    few_shot = {name: FEW_SHOT.get(_said_beside_images(name)) for name in found}
    if {*few_shot.values()} == {*FEW_SHOT.values()}:
        found = few_shot
    if any(found.values()):
        found |= {name: name.lower() for name in found if name.lower() in RETRIEVED}
    if "train" in found.values() and "test" not in found.values():  # alone it may be a class
        found |= {name: "eval" for name in found if name.lower() == EVALUATION}
    if len(found) > 1 and not all(found.values()) and (apart := _told_apart(list(found))) is not None:
        return [None if name is None else apart[name] for name in folders]
    holding = [name for name, split in found.items() if split is not None]
    if len({found[name] for name in holding}) < len(holding) and any(name.lower() not in SPLITS for name in holding):
        found = {name: SPLITS.get(name.lower()) for name in found}
    return [None if name is None else found[name] for name in folders]


def _said_beside_images(folder: str) -> str:
    return "_".join(token for token in tokens(folder) if token not in AROUND)


def _told_apart(names: list[str]) -> dict[str, str | None] | None:
    """The splits of folders that differ in nothing else, as ``WIDER_train`` and ``WIDER_val``, whatever stands beside them, in numbers or
    letters of their parts alone, as ``training-a``, or that all begin with one, as ``train-clean-100`` and ``dev-clean``; None of
    others."""
    said = {name: tokens(name) for name in names}
    splits = {name: [SPLITS[t] for t in of if t in SPLITS] for name, of in said.items()}
    named = [name for name in names if splits[name]]
    if len({splits[name][0] for name in named}) < 2:
        return None
    rest = {tuple(t for t in said[name] if t not in SPLITS and not t.isdigit() and len(t) > 1) for name in named}
    begin = all(len(of) > 1 and of[0] in SPLITS and not of[1].isdigit() for of in said.values())
    alike = len(rest) == 1 and (any(rest) or len(named) == len(names))
    alike = alike or (len(named) == len(names) and _say_the_same_beside(said, splits))
    return {name: splits[name][0] if splits[name] else None for name in names} if alike or begin else None


def _say_the_same_beside(said: Mapping[str, Sequence[str]], splits: Mapping[str, Sequence[str]]) -> bool:
    """Whether each name has the word of one split, and those of each split differ in the same several words, as ``clean_testset_wav`` and
    ``noisy_testset_wav`` beside ``clean_trainset_28spk_wav`` and ``noisy_trainset_28spk_wav``."""
    found: dict[str, list[set[str]]] = {}
    for name, of in splits.items():
        if len(of) != 1:
            return False
        found.setdefault(of[0], []).append({token for token in said[name] if token not in SPLITS})
    differing = {frozenset(frozenset(one - set[str].intersection(*of)) for one in of) for of in found.values()}
    return len(differing) == 1 and all(len(of) > 1 and all(of) for of in differing)


def empty_class_folders(folders: Sequence[str], labels: Sequence[str | None], paths: Sequence[str]) -> list[str]:
    """Leaf folders next to class folders that contain no samples."""
    used = {p.rsplit("/", 1)[0] for p in paths if "/" in p}
    depths = Counter(u.count("/") for u in used)
    if not depths or not any(labels):
        return []
    depth = depths.most_common(1)[0][0]
    prefixes = set(used) | {f.rsplit("/", 1)[0] for f in folders if "/" in f}
    return [
        f
        for f in folders
        if f.count("/") == depth
        and f not in used
        and not any(p.startswith(f + "/") for p in prefixes)
        and not in_aside(f + "/")
    ]
