# mypy: ignore-errors
"""Defects of arrays."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from benchmarks.plants.tree import Expected, Tree, plant


def rewrite(tree: Tree, path: Path, **changed: np.ndarray) -> None:
    if tree.format == "npz":
        with np.load(path) as opened:
            held = {name: opened[name] for name in opened.files}
        np.savez_compressed(path, **{k: v for k, v in {**held, **changed}.items() if v is not None})
    else:
        np.save(path, changed["x"])


def values(tree: Tree, path: Path) -> np.ndarray:
    loaded = np.load(path)
    return loaded["x"] if tree.format == "npz" else loaded


@plant("npz", "npy")
def one_nan(tree: Tree) -> Expected:
    paths = tree.some(2)
    for path in paths:
        x = values(tree, path).copy()
        x.flat[tree.rng.randrange(x.size)] = np.nan
        rewrite(tree, path, x=x)
    return Expected(("nan",), "error", tree.at(*paths))


@plant("npz", "npy")
def one_infinity(tree: Tree) -> Expected:
    paths = tree.some(2)
    for path in paths:
        x = values(tree, path).copy()
        x.flat[tree.rng.randrange(x.size)] = -np.inf
        rewrite(tree, path, x=x)
    return Expected(("inf",), "error", tree.at(*paths))


@plant("npz", "npy")
def one_dimension_more(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    rewrite(tree, path, x=values(tree, path)[None])
    return Expected(("shape-drift",), "error", tree.at(path))


@plant("npz", "npy")
def columns_lost(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    rewrite(tree, path, x=values(tree, path)[:, :4])
    return Expected(("shape-drift",), "error", tree.at(path))


@plant("npz", "npy")
def doubles_among_floats(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    rewrite(tree, path, x=values(tree, path).astype(np.float64))
    return Expected(("dtype-drift",), "warning", tree.at(path))


@plant("npz", "npy")
def all_noughts(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    rewrite(tree, path, x=np.zeros_like(values(tree, path)))
    return Expected(("constant-samples",), "warning", tree.at(path))


@plant("npz", "npy")
def times_255(tree: Tree) -> Expected:
    paths = tree.some(2)
    for path in paths:
        rewrite(tree, path, x=values(tree, path) * np.float32(255))
    return Expected(("scale-drift", "outliers"), "info", tree.at(*paths))


@plant("npz", "npy")
def pickled(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    rewrite(tree, path, x=np.array([{"a": 1}, None], object))
    return Expected(("executable-payload",), "error", tree.at(path))


@plant("npz")
def label_missing(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    rewrite(tree, path, y=None)
    return Expected(("missing-key",), "error", tree.at(path))


@plant("npz")
def array_too_many(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    rewrite(tree, path, debug=np.zeros(3))
    return Expected(("extra-key",), "info")


@plant("npz")
def member_flipped(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as opened:
        info = opened.getinfo("x.npy")
    data[info.header_offset + 60 + info.compress_size // 2] ^= 0xFF
    path.write_bytes(data)
    return Expected(("checksum-mismatch", "unreadable", "truncated"), "error", tree.at(path))
