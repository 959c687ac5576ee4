"""Data sets in formats of several text files that are not read: they are told by name, for each file alone may pass for a text or a table."""

from __future__ import annotations

from collections.abc import Sequence

from dataloader_expert.sources.files import Entry

GRAPHS = ("_A.txt", "_graph_indicator.txt")
"""Edges, and the graph of each node, of the TU data sets."""


def unread_format(entries: Sequence[Entry]) -> str | None:
    """What these files are together, in words; None if it is nothing that is known."""
    names = {entry.path.rpartition("/")[2].removesuffix(".gz") for entry in entries}
    of_graphs = {name.removesuffix(GRAPHS[1]) for name in names if name.endswith(GRAPHS[1])}
    if any(stem + GRAPHS[0] in names for stem in of_graphs):
        return "graphs as the TU data sets have them (edges, and the graph of each node)"
    if "matrix.mtx" in names and "barcodes.tsv" in names and names & {"genes.tsv", "features.tsv"}:
        return "a sparse matrix of counts with the names of its genes and cells (10x Genomics)"
    return None
