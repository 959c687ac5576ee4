# mypy: ignore-errors
"""Defects of tar shards and of their members."""

from __future__ import annotations

from benchmarks.plants.sound import read_tar, write_tar
from benchmarks.plants.tree import Expected, Tree, plant


@plant("tar")
def member_lost(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    parts = read_tar(path)
    key = parts[2 * tree.rng.randrange(20)][0].partition(".")[0]
    write_tar(path, [p for p in parts if p[0] != f"{key}.cls"])
    return Expected(("missing-key",), "error", ((path.name, key),))


@plant("tar")
def key_twice(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    parts = read_tar(path)
    first = 2 * tree.rng.randrange(5)
    write_tar(path, parts + parts[first : first + 2])
    key = parts[first][0].partition(".")[0]
    return Expected(("duplicate-keys", "duplicate-samples"), "warning", ((path.name, key),))


@plant("tar")
def picture_cut(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    parts = read_tar(path)
    n = 2 * tree.rng.randrange(20)
    parts[n] = (parts[n][0], parts[n][1][: len(parts[n][1]) // 2])
    write_tar(path, parts)
    return Expected(("truncated", "unreadable"), "error", ((path.name, parts[n][0].partition(".")[0]),))


@plant("tar")
def shard_lost(tree: Tree) -> Expected:
    (tree.root / "part-0002.tar").unlink()
    return Expected(("missing-shard",), "warning")


@plant("tar")
def shard_again(tree: Tree) -> Expected:
    (tree.root / "part-0004.tar").write_bytes((tree.root / "part-0001.tar").read_bytes())
    return Expected(("duplicate-files", "duplicate-samples", "duplicate-keys"), "warning", (("part-0004.tar",),))
