"""TSV: CSV with tabs."""

from __future__ import annotations

from dataloader_expert.sources.csv import Csv


class Tsv(Csv):
    format = "tsv"
    kinds = frozenset({"tsv"})
    delimiters = "\t"


SOURCE = Tsv
