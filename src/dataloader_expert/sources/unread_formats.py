"""Data sets in formats of several text files that are not read: they are told by name, for each file alone may pass for a text or a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dataloader_expert.sources.files import Entry

GRAPHS = ("_A.txt", "_graph_indicator.txt")
"""Edges, and the graph of each node, of the TU data sets."""
ZARR = (".zgroup", ".zarray", ".zmetadata", "zarr.json")
"""What a Zarr store says of itself, in hidden files."""


def unread_format(entries: Sequence[Entry], base: Path) -> str | None:
    """What these files are together, in words; None if it is nothing that is known. ``base``: the folder that they lie in."""
    inside = any(part.endswith(".zarr") for entry in entries for part in entry.path.split("/")[:-1])
    if inside or any((base / name).exists() for name in ZARR):
        return "arrays in a Zarr store"
    ends = {entry.path.removesuffix(".hea") for entry in entries if entry.path.endswith(".hea")}
    if ends and any(
        entry.path.rpartition(".")[0] in ends and entry.path.endswith((".dat", ".mat")) for entry in entries
    ):
        return "recordings in the format of PhysioNet's WFDB (a .hea beside each .dat or .mat)"
    names = {entry.path.rpartition("/")[2].removesuffix(".gz") for entry in entries}
    of_graphs = {name.removesuffix(GRAPHS[1]) for name in names if name.endswith(GRAPHS[1])}
    if any(stem + GRAPHS[0] in names for stem in of_graphs):
        return "graphs as the TU data sets have them (edges, and the graph of each node)"
    if "matrix.mtx" in names and "barcodes.tsv" in names and names & {"genes.tsv", "features.tsv"}:
        return "a sparse matrix of counts with the names of its genes and cells (10x Genomics)"
    return None
