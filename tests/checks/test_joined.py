"""Columns that samples share with another table of the folder: joined by the wrong key, slipped by a row, or the same by name alone."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from dataloader_expert.sources.links import Keys, Link
from tests.checks.looking import Data
from tests.making.scanning import scan

N, PLOTS = 600, 40
rng = np.random.default_rng(12)
PLOT = rng.integers(0, PLOTS, N)
SLOPE = rng.permutation(90)[:PLOTS].astype(float)
SOIL = np.array(["clay", "loam", "sand", "peat"])[rng.integers(0, 4, PLOTS)]
ELSEWHERE = np.where(rng.random(N) < 0.2, rng.integers(0, PLOTS, N), PLOT)
LATER = (np.arange(N) > 400) & (PLOT % 3 == 0)


def trees(slope: Any, soil: Any = None, table: Any = SLOPE) -> Data:
    """Trees of plots, with the slope of the plot, and perhaps its soil; ``table``: the slopes that the table of plots has."""
    rows = tuple(f"p{k}" for k in range(PLOTS))
    beside: dict[str, Any] = {"slope": tuple(map(float, table)), "soil": tuple(map(str, SOIL))}
    columns = {"plot": [f"p{k}" for k in PLOT], "slope": slope} | (
        {} if soil is None else {"soil": list(map(str, soil))}
    )
    link = Link(
        "plot", Keys("plots.csv", "plot", frozenset(rows), 0, rows, {n: beside[n] for n in columns if n in beside})
    )
    return Data(columns, context={"links": (link,)})


SILENT = {
    "as the table has it": trees(SLOPE[PLOT], SOIL[PLOT]),
    "another number of the same name": trees(rng.normal(20, 5, N)),
    "rounded otherwise": trees(SLOPE[PLOT], table=SLOPE + 0.3),
    "a few mistyped": trees(np.where(np.arange(N) % 90 == 0, 777.0, SLOPE[PLOT])),
    "of one value": trees(np.ones(N), table=np.ones(PLOTS)),
}
SPEAKS = {
    "a fifth joined with other plots": (trees(SLOPE[ELSEWHERE], SOIL[ELSEWHERE]), "columns-contradict", "warning"),
    "values of another time": (
        trees(np.where(LATER, SLOPE[(PLOT + 1) % PLOTS], SLOPE[PLOT])),
        "columns-contradict",
        "info",
    ),
    "a column of the table that slipped by a row": (
        trees(SLOPE[PLOT], table=np.roll(SLOPE, 1)),
        "rows-shifted",
        "warning",
    ),
}


def test_a_wrong_join_is_told_with_its_table(tmp_path: Path) -> None:
    """Seen: 30 % of the rows had the soil of another plot, and the table of plots beside them was not looked at."""
    plots: list[list[Any]] = [["plot", "slope"], *([f"p{k}", int(SLOPE[k])] for k in range(PLOTS))]
    grown: list[list[Any]] = [["plot", "slope", "height"]]
    grown += [[f"p{k}", int(SLOPE[e]), i * 37 % 191] for i, (k, e) in enumerate(zip(PLOT, ELSEWHERE, strict=True))]
    for name, rows in (("plots", plots), ("trees", grown)):
        with (tmp_path / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows(rows)
    [found] = [f for f in scan(tmp_path, tmp_path).findings if "plots.csv for the same plot" in f.message]
    assert found.message.startswith("slope differs from plots.csv for the same plot in")
    assert found.count == int((SLOPE[ELSEWHERE] != SLOPE[PLOT]).sum())
