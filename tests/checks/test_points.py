"""Each fact stands at a point of its own, and a check whose facts clash costs its own findings alone."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from dataloader_expert.checks.columns.totals import Totals
from dataloader_expert.checks.duplicates.duplicates import DISTINCT, Duplicates
from dataloader_expert.facts import Clash, Fact, Facts
from tests.checks.looking import Data, blocks_of, context_of, looked
from tests.making.scanning import scan

WORDS = ["a", "road", "by", "the", "sea", "ends", "where", "two", "boats", "wait", "for", "rain", "who", "left"]


def any_table(rng: random.Random, n: int = 240) -> Data:
    """A table of columns that recur, differ by group and split, stand still and step: what several checks speak of at once."""
    split = [("train", "valid", "test")[3 * i // n] for i in range(n)]
    sites, kinds = [rng.choice("ABC") for _ in range(n)], [rng.choice("xyz") for _ in range(n)]
    own = {site: rng.choice((1, 1.8, 2.205, 10, 1000)) for site in "ABC"}
    level = [rng.gauss(20, 4) for _ in range(n)]
    canned = [" ".join(rng.choices(WORDS, k=12)) for _ in range(3)]
    columns = {
        "row_id": [f"R{i:05d}" for i in range(n)],
        "visit_id": [f"{rng.choice('PQ')}{rng.randrange(n // 4):03d}" for _ in range(n)],
        "site": sites,
        "kind": kinds,
        "code": [f"{rng.choice(('', '0'))}{rng.randrange(12)}{rng.choice(('', '-', ' '))}{k}" for k in kinds],
        "weight": [round(v * own[s], rng.choice((1, 2))) for v, s in zip(level, sites, strict=True)],
        "height": [
            round(v * rng.choice((1, 1, 1, -1))) if s != "train" else v for v, s in zip(level, split, strict=True)
        ],
        "still": [level[i - i % rng.choice((1, 40))] for i in range(n)],
        "low": [min(v, 20.0) - 3 for v in level],
        "high": [max(v, 20.0) * own[k] for v, k in zip(level, sites, strict=True)],
        "start": [
            f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}" if i % 7 else f"{1 + i % 28:02d}/03/2024" for i in range(n)
        ],
        "prompt": [" ".join(rng.choices(WORDS, k=9)) for _ in range(n)],
        "answer": [rng.choice(canned) if rng.random() < 0.2 else " ".join(rng.choices(WORDS, k=14)) for _ in range(n)],
        "label": [rng.choice("cd") if k == "x" else k for k in kinds],
    }
    return Data(columns, "label", split, kinds={"prompt": "text", "answer": "text"})


@pytest.mark.journey
def test_no_two_facts_stand_at_one_point() -> None:
    """Seen: three answers that recur were three facts at the point of their field, and none of 900 samples was read."""
    points: Counter[object] = Counter()
    for check in looked(context_of(data := any_table(random.Random())), blocks_of(data)).values():
        points.update(fact.key for fact in check.facts())
    assert len(points) > 100
    assert [key for key, n in points.items() if n > 1] == []


def clashing(self: Duplicates | Totals) -> Iterable[Fact]:
    return [Fact(DISTINCT, value, self.evidence()) for value in (-1, -2)]


@pytest.mark.parametrize("check", [Duplicates, Totals])
def test_a_clash_costs_one_check_alone(
    check: type[Duplicates | Totals], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Our promise: a check whose facts contradict each other, or another check's, is told as failed; all others are heard."""
    monkeypatch.setattr(check, "applies", lambda self: True)
    monkeypatch.setattr(check, "facts", clashing if check is Duplicates else lambda self: [*clashing(self)][:1])
    (tmp_path / "a.csv").write_text("x,y\n" + "".join(f"{i},{i * i % 7}\n" for i in range(30)) + "nan,1\n")
    scanned = scan(tmp_path, tmp_path)
    assert scanned.error is None
    assert [u for u in scanned.unknowns if "Clash" in u and f"check {check.__name__.lower()}:" in u]
    assert {f.code for f in scanned.findings} & {"nan", "missing-values"}


def test_facts_are_taken_all_or_none() -> None:
    """Our promise: of a check that clashes half way, no half stays."""
    data = Data({"x": [1, 2, 3]})
    check = Totals(context_of(data))
    one, same, other = (Fact(DISTINCT, value, check.evidence()) for value in (1, 1, 2))
    apart = Fact(DISTINCT, 5, check.evidence(), {"field": "x"})
    facts = Facts((one,))
    with pytest.raises(Clash):
        facts.take(Facts((apart, other)))
    assert [*facts] == [one]
    facts.take(Facts((apart, same)))
    assert [*facts] == [one, apart]
