"""What reads a sample's bytes: the library, the user's line that calls it, and the share of a sample's time that it takes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from dataloader_expert.conclusions import MAX_PLACES
from dataloader_expert.facts import Fact, Quantity
from dataloader_expert.probes.base import evidence
from dataloader_expert.probes.profile.hotspots import Weighed
from dataloader_expert.probes.profile.remote_stack import Stack
from dataloader_expert.probes.profile.stage_classifier import OURS, Namer, is_users, module_name, takes_whole

READERS = Quantity(
    "readers", "", "what reads, and what it reads decodes, by library: its share of a sample's time, and where"
)
OWN = "own"
"""The user's own calls of files."""
EVERY = frozenset[str]()
TABLES = frozenset({"loadtxt", "genfromtxt", "fromregex"})
LOADS = frozenset({"load", "read_array", "open_memmap", "read_magic", "_read_array_header", "_read_bytes"})
MEMBERS = frozenset({"__getitem__"})
"""Of an open NPZ file."""
LIBRARIES: tuple[tuple[str, frozenset[str], str], ...] = (
    ("numpy.lib", TABLES, "table"),
    ("numpy.lib.format", EVERY, "npy"),
    ("numpy.lib._format_impl", EVERY, "npy"),
    ("numpy.lib.npyio", MEMBERS, "npz"),
    ("numpy.lib.npyio", LOADS, "npy"),
    ("numpy.lib._npyio_impl", MEMBERS, "npz"),
    ("numpy.lib._npyio_impl", LOADS, "npy"),
    ("soundfile", EVERY, "soundfile"),
    ("h5py", EVERY, "h5py"),
    ("pyarrow", EVERY, "pyarrow"),
    ("PIL.Image", frozenset({"open", "load"}), "image"),
    ("PIL.ImageFile", EVERY, "image"),
    ("pandas.io", EVERY, "pandas"),
    ("torch.serialization", EVERY, "torch"),
    ("zarr", EVERY, "zarr"),
    ("zipfile", EVERY, "archive"),
    ("tarfile", EVERY, "archive"),
    ("gzip", EVERY, "archive"),
    ("wave", EVERY, "wave"),
    ("scipy.io.wavfile", EVERY, "wave"),
)
"""Modules by prefix, which of their functions read, and what is said of them."""


def reader_of(namer: Namer, stack: Stack) -> str | None:
    """The library that a stack reads with, the outermost below the user's line; ``own`` for calls of files on the user's line."""
    inner = [frame for frame in stack if not frame[0].startswith(OURS)]
    at = next((k for k, frame in enumerate(inner) if is_users(frame[0])), None)
    if at is None:
        return None
    found = [
        known
        for file, _, function in inner[:at]
        if (known := _known(module_name(file).strip("."), function)) is not None
    ]
    if found:
        return "npz" if "npy" in found and "archive" in found else found[-1]
    return OWN if namer.stage_of(stack) == "read" else None


def _known(module: str, function: str) -> str | None:
    for prefix, functions, name in LIBRARIES:
        if (module == prefix or module.startswith(f"{prefix}.")) and (functions is EVERY or function in functions):
            return name
    return None


def readers(namer: Namer, stacks: Weighed, seen: int) -> Fact:
    """By library, the one that takes most first."""
    shares: defaultdict[str, float] = defaultdict(float)
    lines: defaultdict[str, defaultdict[tuple[str, int], float]] = defaultdict(lambda: defaultdict(float))
    for stack, share in stacks:
        name = reader_of(namer, stack)
        if name is not None:
            shares[name] += share
            lines[name][next((file, line) for file, line, _ in stack if is_users(file))] += share
    found = []
    for name in _most(shares):
        places = list(_places(lines[name]))
        whole = any(takes_whole(place["file"], place["line"]) for place in places[:1])  # others open the file
        found.append({"library": name, "share": round(shares[name], 4), "places": places, "whole": whole})
    return Fact(READERS, found, evidence("sampled", "stages", seen=seen))


def _most(shares: dict[Any, float]) -> list[Any]:
    return sorted(shares, key=lambda one: -shares[one])


def _places(lines: dict[tuple[str, int], float]) -> Iterator[dict[str, Any]]:
    for file, line in _most(lines)[:MAX_PLACES]:
        yield {"file": file, "line": line}
