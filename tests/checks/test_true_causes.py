"""What is said names the cause, and nothing that merely follows from it or looks like it."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from dataloader_expert.checks.base import MIXED_UNITS
from dataloader_expert.checks.columns.broken_rules import BROKEN
from dataloader_expert.checks.common.parts import Part
from dataloader_expert.checks.texts.conversations import oddities
from dataloader_expert.facts import Fact, Facts
from tests.checks.looking import CHECKS, Data, context_of, judged
from tests.making.scanning import scan

DRAW = random.Random(11)
N = 400


@pytest.mark.parametrize(("agree", "severity"), [(True, "error"), (False, "info")])
def test_whole_rows_that_stand_in_two_splits_are_copies(agree: bool, severity: str) -> None:
    """Seen: ratings that stood in training and test, stars included, were "mostly of different stars". Repeated observations are of such."""
    first = [[i % 37, DRAW.randrange(10**6), DRAW.randrange(1, 6)] for i in range(N)]
    again = [[a, b, c if agree else DRAW.randrange(1, 6)] for a, b, c in first[:60]]
    columns = {name: [row[k] for row in first + again] for k, name in enumerate(("user", "code", "rating"))}
    data = Data({**columns, "item": columns["code"]}, "rating", ["train"] * N + ["test"] * 60)
    found = judged("duplicates", data)
    assert found["splits-overlap"].severity == severity
    assert ("differ in" in found["splits-overlap"].message) != agree


@pytest.mark.parametrize(
    ("roles", "odd"),
    [
        ("user assistant tool assistant user", ["unanswered"]),
        ("user assistant tool tool assistant user assistant", []),
        ("assistant user user assistant", ["swapped"]),
        ("user assistant assistant user", ["swapped"]),
    ],
)
def test_a_call_of_a_tool_is_no_answer_out_of_turn(roles: str, odd: list[str]) -> None:
    """Seen: a conversation that ends with the user after a call of a tool "has an answer before its question"."""
    assert [*oddities(roles.split())] == odd


@pytest.mark.parametrize("wrapped", [True, False])
def test_a_wrapped_minus_one_is_no_end_of_documents(wrapped: bool, tmp_path: Path) -> None:
    """Seen: -1 that became 65535 in training was the end of documents that validation lacks; 0 ends them in both."""
    rng = np.random.default_rng(0)
    for name, n in (("train", 60_000), ("val", 20_000)):
        tokens = rng.integers(1, 9_000, n).astype(np.uint16)
        tokens[::150] = 0
        if wrapped and name == "train":
            tokens[rng.random(n) < 0.015] = 65_535
        tokens.tofile(tmp_path / f"{name}.bin")
    said = [f.message for f in scan(tmp_path, tmp_path).findings if f.severity != "info"]
    assert ["train.bin has" in text and "-1" in text for text in said] == [True] * wrapped


@pytest.mark.parametrize(("at", "told"), [("C3", False), ("A1", True)])
def test_what_follows_from_a_unit_is_not_told_beside_it(at: str, told: bool) -> None:
    """Seen: frequencies in kilohertz at one station were also "numbered differently" there."""
    check = CHECKS["broken_rules"](context_of(Data({"sat": ["a"], "freq_hz": [1.0], "station": ["C3"]})))
    part = Part("station", ("C3",), True, 90, 90)
    broken = part.value() | {"kind": "mapped", "where": []}
    unit = {"of": at, "rows": 90, "how": "times 1,000", "median": 1.4e5, "others": 1.4e8}
    facts = [Fact(BROKEN, broken, check.evidence(), {"fields": ["sat", "freq_hz"]})]
    facts += [Fact(MIXED_UNITS, unit, check.evidence(), {"field": "freq_hz", "group": "station", "of": 2})]
    assert bool([*check.judge(Facts(tuple(facts)))]) == told


def test_the_first_of_a_thread_answers_nothing(tmp_path: Path) -> None:
    """Seen: "in_reply_to is missing in 42 %" of mails, as the first of each thread answers none."""
    rows = [f"m{i},{'' if i % 3 == 0 else f'm{i - 1}'},{'' if i % 5 == 0 else DRAW.random()}" for i in range(200)]
    (tmp_path / "t.csv").write_text("id,in_reply_to,wait_h\n" + "\n".join(rows) + "\n")
    found = {f.where[0]["field"]: f.severity for f in scan(tmp_path, tmp_path).findings if f.code == "missing-values"}
    assert found == {"in_reply_to": "info", "wait_h": "warning"}


def test_what_is_not_over_has_no_end(tmp_path: Path) -> None:
    """Seen: "find closed_at of these samples, or drop them" of open requests; and "drop" of the 77 % to whom a test was not ordered."""
    rows = [
        f"{i},2025-01-{1 + i % 28:02},{'' if i > 180 else '2025-02-01'},{DRAW.random() if i % 4 == 0 else ''}"
        for i in range(200)
    ]
    (tmp_path / "t.csv").write_text("id,opened_at,closed_at,troponin\n" + "\n".join(rows) + "\n")
    found = {f.where[0]["field"]: f for f in scan(tmp_path, tmp_path).findings if f.code == "missing-values"}
    assert {name: f.severity for name, f in found.items()} == {"closed_at": "info", "troponin": "warning"}
    assert "censored" in found["closed_at"].fix and "drop" not in found["troponin"].fix


@pytest.mark.parametrize(("how", "told"), [("pounds", True), ("min-max", False)])
def test_a_whole_split_is_not_explained_by_a_group_in_it(how: str, told: bool) -> None:
    """Seen: weights of all of test were in pounds "where abo is A"; test scaled to 0 to 1 was "metres to feet, where lift_id is L-04"."""
    rng = np.random.default_rng(3)
    kilos = rng.normal(76, 11, 1200)
    donors = [f"D{i // 3}" for i in range(1200)]
    kilos[900:] = kilos[900:] * 2.20462 if how == "pounds" else (kilos[900:] - 30) / 120
    columns = {"donor": donors, "abo": [*rng.choice(["A", "B", "O"], 1200)], "weight_kg": kilos.round(3)}
    found = judged("mixed_units", Data(columns, None, ["train"] * 900 + ["test"] * 300))
    assert ["where abo" in f.message for f in found.values()] == [False] * told


def test_a_file_that_lost_its_blank_lines_is_one_long_sentence(tmp_path: Path) -> None:
    """Seen: one such file made plain lines of all three, and tokens that recur were "8,408 copies" and overlapping splits."""
    for name in ("train", "dev", "test"):
        made = [[(f"w{DRAW.randrange(500)}", DRAW.choice("OOOB")) for _ in range(8 + i % 7)] for i in range(60)]
        gap = "\n" if name == "dev" else "\n\n"
        (tmp_path / f"{name}.conll").write_text(gap.join("\n".join("\t".join(t) for t in one) for one in made) + "\n")
    said = {f.code: f.message for f in scan(tmp_path, tmp_path).findings if f.severity != "info"}
    assert not {"splits-overlap", "duplicate-samples"} & said.keys()
    assert "dev.conll" in str([f.where for f in scan(tmp_path, tmp_path).findings if f.code == "suspicious-text"])


@pytest.mark.parametrize(("right", "told"), [("same", False), ("other", True)])
def test_the_letter_of_a_choice_is_no_label_of_its_own(right: str, told: bool) -> None:
    """Seen: questions that came again with their choices in another order "occur with more than one label", which was another letter."""
    asked = [f"Who wired the pump of village number {i}, and in which year was it?" for i in range(200)]
    choices = [[f"{name} in {1800 + i}" for name in ("Abel", "Bea", "Cora", "Dirk")] for i in range(200)]
    rows = [(q, *of, "A") for q, of in zip(asked, choices, strict=True)]
    rows += [(q, *of[::-1], "D" if right == "same" else "A") for q, *of, _ in rows[:30]]
    columns = {name: [row[k] for row in rows] for k, name in enumerate(("question", "A", "B", "C", "D", "answer"))}
    data = Data(columns, "answer", ["train"] * 200 + ["test"] * 30, kinds={"question": "text"})
    found = judged("duplicates", data)
    assert ("label-conflict" in found, found["splits-overlap"].count) == (told, 30)
