# mypy: ignore-errors
"""Defects of files of any format."""

from __future__ import annotations

import os

from benchmarks.plants.sound import write_table
from benchmarks.plants.tree import TABLES, Expected, Tree, plant

FILES = ("jpg", "png", "npz", "npy", "wav")


@plant(*FILES, "tar", "parquet", "arrow", "jsonl", "json")
def cut_short(tree: Tree) -> Expected:
    write_table(tree)
    tree.written = True
    paths = tree.some(1 if tree.format in (*TABLES, "tar") else 3)
    least = 0.8 if tree.format in TABLES else 0.3  # some of the later split stays
    for path in paths:
        data = path.read_bytes()
        path.write_bytes(data[: int(len(data) * tree.rng.uniform(least, 0.9))])
    codes = ("truncated", "unreadable", "parse-error", "not-the-format", "header-mismatch", "missing-key")
    return Expected(codes, "error", tree.at(*paths))


@plant(*FILES, "tar")
def emptied(tree: Tree) -> Expected:
    paths = tree.some(1 if tree.format == "tar" else 2)
    for path in paths:
        path.write_bytes(b"")
    return Expected(("empty-file",), "error", tree.at(*paths))


@plant(*FILES, "tar")
def other_content(tree: Tree) -> Expected:
    """Lines of text under the data's suffix."""
    paths = tree.some(1 if tree.format == "tar" else 2)
    for path in paths:
        path.write_text("Lorem ipsum\n" * tree.rng.randint(20, 200))
    return Expected(("not-the-format", "truncated"), "error", tree.at(*paths))  # a short text is a cut block


@plant("jpg", "png", "npz", "npy")  # a sound may well end in silence
def zeroed_tail(tree: Tree) -> Expected:
    """What a crash leaves: the right size, and noughts from some page on."""
    paths = tree.some(2)
    for path in paths:
        data = path.read_bytes()
        keep = len(data) // 3 if tree.format != "npy" else 40  # values of nought are values; the header's are not
        path.write_bytes(data[:keep] + bytes(len(data) - keep))
    return Expected(
        (
            "truncated",
            "unreadable",
            "checksum-mismatch",
            "not-the-format",
            "header-mismatch",
            "parse-error",
            "shape-drift",
        ),
        "error",
        tree.at(*paths),
    )


@plant(*FILES)
def copied_files(tree: Tree) -> Expected:
    """Files again under another name, in the same folder."""
    paths = []
    for path in tree.some(3):
        copy = path.with_name(f"{path.stem}b{path.suffix}")
        copy.write_bytes(path.read_bytes())
        paths.append(copy)
    return Expected(("duplicate-files", "duplicate-samples", "label-conflict"), "warning", tree.at(*paths))


@plant(*FILES)
def dangling_link(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    link = path.with_name(f"{path.stem}x{path.suffix}")
    link.symlink_to("nowhere" + path.suffix)
    return Expected(("broken-link",), "warning", tree.at(link))


@plant(*FILES)
def link_out(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    outside = tree.outside / f"outside{path.suffix}"
    outside.parent.mkdir(parents=True, exist_ok=True)
    outside.write_bytes(path.read_bytes())
    link = path.with_name(f"{path.stem}x{path.suffix}")
    link.symlink_to(outside)
    return Expected(("outside-root",), "error", tree.at(link))


@plant(*FILES)
def pipe_among_files(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    pipe = path.with_name(f"{path.stem}p{path.suffix}")
    os.mkfifo(pipe)
    return Expected(("special-file",), "warning", tree.at(pipe))


@plant("jpg", "png", "wav")
def foreign_among_files(tree: Tree) -> Expected:
    path = tree.some(1)[0].with_name("minutes.pdf")
    path.write_bytes(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n" + bytes(2000))
    return Expected(("foreign-file", "junk-file"), "info", tree.at(path))
