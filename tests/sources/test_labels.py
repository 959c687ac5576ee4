"""Which column of a table is taken for the label, and what may be said of one that is only guessed."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

import pytest

from dataloader_expert.conclusions import Finding, Severity
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.registry import open_source
from dataloader_expert.tools.check_quality import Checklist
from dataloader_expert.tools.recipes.check_quality import judge
from tests.making.scanning import Scanned, scan

DRAW = random.Random(31)


def table(path: Path, header: list[str], rows: list[list[Any]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows] if header else rows)
    return path


def skewed() -> str:
    return DRAW.choices(["red", "green", "blue"], [90, 8, 2])[0]


def number() -> float:
    return round(DRAW.gauss(9, 2), 3)


TAKEN: dict[str, tuple[list[str], list[list[Any]], str | None]] = {
    "none, where the first column has a name of its own": (
        ["shop", "area", "height"],
        [[skewed(), number(), number()] for _ in range(300)],
        None,
    ),
    "an amount that is predicted from the columns before it": (
        ["shop", "area", "sale_price"],
        [[skewed(), number(), number()] for _ in range(300)],
        "sale_price",
    ),
    "none, where that amount is not last": (
        ["price", "area", "height"],
        [[number(), number(), number()] for _ in range(300)],
        None,
    ),
    "what became of a row, rather than a place": (
        ["died_30d", "area", "ward"],
        [[DRAW.randrange(2), number(), DRAW.choice("xyz")] for _ in range(300)],
        "died_30d",
    ),
    "what became of a row, by a state in the last column": (
        ["area", "active"],
        [[number(), DRAW.randrange(2)] for _ in range(300)],
        "active",
    ),
    "a count in the last column": (
        ["temp", "wind", "count"],
        [[number(), number(), DRAW.randrange(400)] for _ in range(300)],
        "count",
    ),
    "a guess by its place, where several columns say what became of a row": (
        ["failure_heat", "failure_power", "tool"],
        [[DRAW.randrange(2), DRAW.randrange(2), DRAW.choice("xyz")] for _ in range(300)],
        "tool",
    ),
    "no number that only has such a name": (
        ["failure_rate", "area"],
        [[number(), number()] for _ in range(300)],
        None,
    ),
    "no category of goods that are sold again and again": (
        ["sku", "category", "units_sold"],
        [[i % 40, "abc"[i % 40 % 3], DRAW.randrange(90)] for i in range(400)],
        "units_sold",
    ),
    "no category of goods beside their ratings, which come less often": (
        ["item_id", "category", "rating"],
        [[i % 40, "abc"[i % 40 % 3], DRAW.randrange(1, 6)] for i in range(400)],
        "rating",
    ),
    "a category of goods that are listed once": (
        ["sku", "weight", "category"],
        [[i, number(), "abc"[i % 3]] for i in range(400)],
        "category",
    ),
    "none of two answers of which one is preferred": (
        ["chosen", "rejected", "score"],
        [[f"answer {i} is long enough", f"answer {-i} is worse than that", DRAW.randrange(5)] for i in range(300)],
        None,
    ),
    "the column before parts of a date, as a guess": (
        ["area", "quality", "year", "month"],
        [[number(), DRAW.randrange(3), 2023, DRAW.randrange(1, 13)] for _ in range(300)],
        "quality",
    ),
    "a weak name rather than a place": (
        ["area", "diagnosis", "ward"],
        [[number(), DRAW.choice("ab"), DRAW.choice("xyz")] for _ in range(300)],
        "diagnosis",
    ),
    "the last column, as a guess": (
        ["shop", "area", "quality"],
        [[skewed(), number(), DRAW.randrange(3)] for _ in range(300)],
        "quality",
    ),
    "the last column, as a guess, but for what few rows have": (
        ["area", "quality", "mask"],
        [[number(), (q := DRAW.randrange(4)), "SML"[i % 3] if q == 0 else ""] for i in range(300)],
        "quality",
    ),
    "the first of columns without names, as a guess": (
        [],
        [[DRAW.randrange(3), number(), number()] for _ in range(300)],
        "f0",
    ),
}


@pytest.mark.parametrize("name", TAKEN)
def test_the_label_is(tmp_path: Path, name: str) -> None:
    """Our promise: names come before places, and a name that is no label's is not overruled by its place."""
    header, rows, label = TAKEN[name]
    path = table(tmp_path / "t.csv", header, rows)
    source = open_source(SourceRef(str(path), (str(tmp_path),)), [])
    assert source.label == label
    assert source.label_how.startswith("guessed from its place") == ("guess" in name)


def test_a_category_of_goods_is_no_label_in_several_files(tmp_path: Path) -> None:
    """Seen: a small test file, listed first, in which each article came twice. Our promise: all files tell whether goods recur."""
    for split, n in ("test", 50), ("train", 400):
        rows = [[i % 40, "abc"[i % 40 % 3], DRAW.randrange(1, 6)] for i in range(n)]
        table(tmp_path / f"{split}.csv", ["item_id", "category", "rating"], rows)
    assert open_source(SourceRef(str(tmp_path), (str(tmp_path),)), []).label == "rating"


@pytest.mark.parametrize("about", ["a note about the {0}th of the many bridges of the town", "{0}"])
def test_an_instruction_about_something_else_is_no_copy(tmp_path: Path, about: str) -> None:
    """Seen: tasks of one instruction and answer, one of them with an input, which most lack, were called copies in two splits."""
    for split, n in ("train", 300), ("validation", 60):
        rows = []
        for i in range(n):
            common = i % 3 == 0
            asked = (
                f"is there a bridge over the river {i // 3 % 50} in this text"
                if common
                else f"tell the story of {split} {i} again"
            )
            answer = "there is one in it" if common else f"the story of {i} in {split} went on and on"
            given = about.format(f"{split}{i}") if common else ""
            rows.append(json.dumps({"instruction": asked, "input": given, "output": answer}))
        (tmp_path / f"{split}.jsonl").write_text("\n".join(rows), encoding="utf-8")
    assert {"splits-overlap", "duplicate-samples"} & {f.code for f in scan(tmp_path, tmp_path).findings} == set()


def warned(said: Scanned) -> set[str]:
    return {f.code for f in said.findings if f.severity != "info"}


def test_a_guessed_label_only_informs(tmp_path: Path) -> None:
    """Our promise: what rests on a guess is info, says so, and hides no difference between rows."""
    pairs = [[DRAW.randrange(30), DRAW.randrange(6), i % 5] for i in range(400)]
    rows = [list(row) for row in sorted(set(map(tuple, pairs)))]
    rows += [[99 + i, 7 + i % 2, 0] for i in range(2000)]  # rows apart, of one label
    path = table(tmp_path / "t.csv", ["person", "thing", "score"], rows)
    guessed = scan(path, tmp_path)
    assert warned(guessed) == set()
    told = {f.code: f.message for f in guessed.findings}
    assert "score is only guessed to be the label" in told["severe-imbalance"]
    assert {"label-conflict", "severe-imbalance"} <= warned(scan(path, tmp_path, label="score"))


def test_what_gives_a_likely_label_away_is_told(tmp_path: Path) -> None:
    """Our promise: behind what may be the label, a number that only rows of one class have is told, as a guess."""
    rows = [[number(), c := i % 7 == 0, number() * c] for i in range(400)]
    table(tmp_path / "t.csv", ["area", "crazed", "regrind_eur"], [[a, int(c), x] for a, c, x in rows])
    [found] = [f for f in scan(tmp_path, tmp_path).findings if f.code == "label-leaked-by-field"]
    assert found.severity == "info"
    assert found.message.endswith("; crazed is only guessed to be the label")


def checklist(said: Scanned) -> tuple[Checklist, dict[str, str]]:
    return judge(Facts(tuple(map(Fact.from_json, said.facts))), tuple(said.findings))


def test_a_guessed_label_fails_no_item_of_the_checklist(tmp_path: Path) -> None:
    """Our promise: an imbalance of what may not be the label is unknown; of the label that is named, a failure."""
    rows = [[number(), number(), skewed()] for _ in range(400)]
    path = table(tmp_path / "t.csv", ["area", "price", "shop"], rows)
    status, why = checklist(scan(path, tmp_path))
    assert status.imbalance_strategy_defined == "unknown"
    assert "pass label=" in why["imbalance_strategy_defined"]
    assert checklist(scan(path, tmp_path, label="shop"))[0].imbalance_strategy_defined == "fail"


def test_the_worst_finding_of_a_code_decides(tmp_path: Path) -> None:
    """Our promise: an error is not hidden by an info of the same code."""
    said = scan(table(tmp_path / "t.csv", ["x", "label"], [[number(), DRAW.choice("ab")] for _ in range(50)]), tmp_path)
    place: tuple[dict[str, Any], ...] = ({"source": "test"},)
    both: tuple[Severity, ...] = ("error", "info")
    said.findings = [Finding("extra-key", severity, severity, place, "leave it out") for severity in both]
    assert checklist(said)[0].shapes_consistent == "fail"
