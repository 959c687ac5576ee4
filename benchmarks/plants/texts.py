# mypy: ignore-errors
"""Texts of a line each, parallel texts and tagged sentences, and their defects."""

from __future__ import annotations

from pathlib import Path

from benchmarks.plants.tree import Expected, Tree, plant

SYLLABLES = [f"{a}{b}" for a in "bdfgklmnprst" for b in "aeiou"]
HEADINGS = ["== Notes ==", "== Sources ==", "== Early life ==", "== Works ==", "== Legacy ==", "== Death =="]
TAGS = ["O", "O", "O", "B-LOC", "I-LOC", "B-PER"]


def words(tree: Tree, n: int) -> list[str]:
    return ["".join(tree.rng.choices(SYLLABLES, k=tree.rng.randint(1, 3))) for _ in range(n)]


def prose(tree: Tree) -> str:
    return " ".join(words(tree, tree.rng.randint(14, 40))).capitalize() + "."


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def put(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def sound_lines(tree: Tree) -> None:
    """Paragraphs, and headings that recur."""
    for split, n in (("train", 180), ("valid", 60)):
        put(
            tree.root / f"{split}.txt",
            [tree.rng.choice(HEADINGS) if tree.rng.random() < 0.15 else prose(tree) for _ in range(n)],
        )


def sound_parallel(tree: Tree) -> None:
    for split, n in (("train", 150), ("valid", 50)):
        for language in ("en", "fi"):
            put(tree.root / f"{split}.{language}", [prose(tree) for _ in range(n)])


def sound_tagged(tree: Tree) -> None:
    for split, n in (("train", 90), ("test", 40)):
        blocks = [
            [f"{word} X {tree.rng.choice(TAGS)}" for word in words(tree, tree.rng.randint(5, 15))] for _ in range(n)
        ]
        put(tree.root / f"{split}.txt", [line for block in blocks for line in (*block, "")])


SOUND_TEXTS = {"lines": sound_lines, "parallel": sound_parallel, "tagged": sound_tagged}


def long_ones(lines: list[str], tree: Tree, n: int) -> list[int]:
    """Numbers of paragraphs that are no neighbours."""
    there = [i for i, line in enumerate(lines) if not line.startswith("==")][::2]
    return sorted(tree.rng.sample(there, n))


@plant("lines")
def lines_across_splits(tree: Tree) -> Expected:
    train, path = lines_of(tree.root / "train.txt"), tree.root / "valid.txt"
    lines = lines_of(path)
    at = long_ones(lines, tree, 3)
    for to, of in zip(at, long_ones(train, tree, 3), strict=True):
        lines[to] = train[of]
    put(path, lines)
    return Expected(("splits-overlap",), "error", tuple((path.name, str(i)) for i in at))


@plant("lines")
def lines_twice(tree: Tree) -> Expected:
    path = tree.root / "train.txt"
    lines = lines_of(path)
    one, *copies = long_ones(lines, tree, 3)
    for i in copies:
        lines[i] = lines[one]
    put(path, lines)
    return Expected(("duplicate-samples",), "warning", tuple((path.name, str(i)) for i in (one, *copies)))


@plant("lines")
def lines_nearly_twice(tree: Tree) -> Expected:
    path = tree.root / "train.txt"
    lines = lines_of(path)
    one, other = long_ones(lines, tree, 2)
    lines[other] = lines[one].rstrip(".") + " " + words(tree, 1)[0] + "."
    put(path, lines)
    return Expected(("near-duplicates",), "warning", tuple((path.name, str(i)) for i in (one, other)))


@plant("lines", "parallel")
def other_encoding(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    data = path.read_bytes().split(b"\n")
    at = tree.rng.randrange(len(data) - 1)
    data[at] = b"caf\xe9 " + data[at]
    path.write_bytes(b"\n".join(data))
    return Expected(("encoding-error",), "warning", tree.at(path))


@plant("lines")
def decoded_twice(tree: Tree) -> Expected:
    path = tree.root / "train.txt"
    lines = lines_of(path)
    [at] = long_ones(lines, tree, 1)
    lines[at] += " " + "déjà vu, né à Genève".encode().decode("latin-1")
    put(path, lines)
    return Expected(("encoding-error",), "warning", ((path.name, str(at)),))


@plant("parallel")
def line_lost(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    lines = lines_of(path)
    del lines[tree.rng.randrange(len(lines))]
    put(path, lines)
    return Expected(("length-mismatch",), "error", tree.at(path))


@plant("parallel")
def not_translated(tree: Tree) -> Expected:
    lines, path = lines_of(tree.root / "train.en"), tree.root / "train.fi"
    changed = lines_of(path)
    at = tree.rng.randrange(len(lines))
    changed[at] = lines[at]
    put(path, changed)
    return Expected(("equal-fields",), "info", (("train.en", str(at)),))


@plant("parallel")
def nothing_said(tree: Tree) -> Expected:
    path = tree.root / "valid.fi"
    lines = lines_of(path)
    at = tree.rng.randrange(1, len(lines) - 1)
    lines[at] = ""
    put(path, lines)
    return Expected(("blank-text",), "warning", (("valid.en", str(at)),))


@plant("tagged")
def tag_lost(tree: Tree) -> Expected:
    path = tree.root / "train.txt"
    lines = lines_of(path)
    at = tree.rng.choice([i for i, line in enumerate(lines) if line])
    lines[at] = lines[at].rsplit(" ", 1)[0]
    put(path, lines)
    sentence = sum(not line for line in lines[:at])
    return Expected(("parse-error",), "error", ((path.name, str(sentence)),))


@plant("tagged")
def sentences_across_splits(tree: Tree) -> Expected:
    train, test = tree.root / "train.txt", tree.root / "test.txt"
    blocks = train.read_text(encoding="utf-8").split("\n\n")
    path, others = test, test.read_text(encoding="utf-8").split("\n\n")
    at = tree.rng.randrange(1, len(others) - 1)
    others[at] = blocks[tree.rng.randrange(1, len(blocks) - 1)]
    path.write_text("\n\n".join(others), encoding="utf-8")
    return Expected(("splits-overlap",), "error", ((path.name, str(at)),))
