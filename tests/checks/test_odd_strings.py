"""Strings that break what nearly all others of their field keep to, and fields that keep to nothing of that kind."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tests.checks.looking import Data, judged

RNG = np.random.default_rng(14)
N = 600
PARTS = ["c1ccccc1", "C(=O)N", "CC", "C1CCNCC1", "OC", "N", "C(F)(F)F", "Cl", "S(=O)(=O)", "C#N", "[nH]", "O"]
SMILES = ["C" + "".join(RNG.choice(PARTS, 3 + i % 6)) for i in range(N)]
DNA = ["".join(RNG.choice(list("ACGT"), 60)) for _ in range(N)]
GENES = RNG.choice(
    ["BRCA1", "TP53", "EGFR", "MYC", "KRAS", "PTEN", "GATA3", "SOX2", "CDK4", "MARCH1", "SEPT2"], N
).tolist()
AGES = RNG.choice(["0-4", "15-19", "20-24", "25-29", "30-34", "35-39"], N).tolist()
RECORDS = [json.dumps({"name": f"the {gene}", "n": [i, {"b": i}]}) for i, gene in enumerate(GENES)]
PROTEINS = ["".join(RNG.choice(list("ACDEFGHIKLMNPQRSTVWY"), 300)) for _ in range(N)]
WORDS = ["station", "morning", "yellow", "carriage", "between", "mountain", "river", "engine"]


def told(values: list[str], odd: list[str], **more: Any) -> Any:
    """What is found of these values, of which the first from the 50th on are odd ones."""
    texts = [*values[:50], *odd, *values[50 + len(odd) :]]
    data = Data({"x": texts, **more}, kinds={"x": "category", **dict.fromkeys(more, "category")})
    return judged("odd_strings", data).get("suspicious-text")


@pytest.mark.parametrize(
    ("values", "odd"),
    [
        (SMILES, ["CC(=O", "C1CC)N"]),
        (SMILES, [f"{s}(" for s in SMILES[:9]]),
        (RECORDS, [record[:20] for record in RECORDS[:5]]),
        (DNA, ["N" * 60] * 3),
        (DNA, ["-" * 60, "?" * 60]),
        (DNA, [s.replace("T", "U") for s in DNA[:40]]),
        (DNA, [s.lower() for s in DNA[:20]]),
        (GENES, ["1-Mar", "2-Sep", "2-Sep"]),
        (GENES, ["2.00E+10", "1.50E+05"]),
        (AGES, ["9-May", "14-Oct", "9-May"]),
        (AGES, ["Oct-14"] * 4),
    ],
)
def test_strings_that_break_the_rule_of_the_others_are_told(values: list[str], odd: list[str]) -> None:
    found = told(values, odd)
    assert found.severity == "warning"
    assert found.count == len(odd)


def test_the_letters_of_another_alphabet_are_told() -> None:
    assert "'U' and no 'T'" in told(DNA, [s.replace("T", "U") for s in DNA[:40]]).message


def test_a_field_that_names_the_alphabet_explains_it() -> None:
    """Our promise: RNA that is said to be RNA is no mistake."""
    kind = ["RNA" if 50 <= i < 90 else "DNA" for i in range(N)]
    assert told(DNA, [s.replace("T", "U") for s in DNA[:40]], kind=kind).severity == "info"


def soft_masked(sequence: str, i: int) -> str:
    """A sequence of which a part that repeats in the genome, or all, is in lower case."""
    at = (0, 60) if i % 20 == 0 else (i % 40, i % 40 + 15) if i % 2 else (0, 0)
    return sequence[: at[0]] + sequence[at[0] : at[1]].lower() + sequence[at[1] :]


@pytest.mark.parametrize(
    ("values", "odd"),
    [
        (SMILES, []),
        (SMILES, ["CC(=O"]),  # a slip
        (SMILES, ["[Na+].[Cl-]", "C", "O", "BrBr", "II", "[Se]"]),  # rare elements, short molecules
        (DNA, [s[:30] + "N" + s[31:] for s in DNA[:30]]),  # a letter that is not known
        (DNA, ["A" * 60, "T" * 60]),  # controls of one letter
        (DNA, [DNA[0].replace("T", "U")] * 9),  # one that comes again, as the address of a source
        ([soft_masked(s, i) for i, s in enumerate(DNA)], []),
        ([d if i % 3 else d.replace("T", "U") for i, d in enumerate(DNA)], []),  # two kinds
        (PROTEINS, [s[:100] + "U" + s[101:] for s in PROTEINS[:20]]),
        (["".join(RNG.choice(list("01"), 16)) for _ in range(N)], ["0" * 16, "1" * 16, "1" * 16]),  # bits
        ([f"({a},{b}]" for a, b in RNG.integers(0, 9, (N, 2)).tolist()], ["(1,2)", "[3,4]", "[3,4]"]),  # intervals
        ([f"^a{i}[b(]+\\d$" if i % 30 == 0 else f"^(a{i})[b-c]+\\d$" for i in range(N)], []),  # patterns
        ([f"the {w} (of {i}) is here :)" if i % 40 == 0 else f"the {w} (of {i})" for i, w in enumerate(WORDS * 75)], []),
        ([f"[info] {w} {i} done" for i, w in enumerate(WORDS * 75)], []),  # lines of a log
        (["\u54c8\u4f60\u597d" * (4 + i % 5) + str(i) for i in range(N)], ["\u54c8" * 12] * 3),  # laughter
        ([f"{k:032x}" for k in range(N)], ["0" * 32, "f" * 32]),
        (WORDS * 75, ["1-Mar", "2-Sep"]),  # words
        ([f"2019-0{1 + i % 9}-1{i % 9}" for i in range(N)], ["1-Mar", "2-Sep"]),  # dates
        ([f"{x:.2f}" for x in RNG.normal(0, 1, N)], ["1.00E+05"] * 3),  # numbers
        ([f"{'QHY'[i % 3]}{i % 4}-2{i % 3}" for i in range(N)], ["Mar-21", "Jun-21", "Mar-22"]),  # periods
        ([f"{d}-{m}" for d in range(1, 26) for m in ("Jan", "Feb", "Mar", "Apr") for _ in range(6)], []),  # days
        (["[]", "[1, 2]"] * 300, ["['a', 'b']", "[1. 2.]", "[None]"]),  # lists of Python
        (["user", "http", "x"] * 200, ["xxxxxxxx", "--------"]),  # short words
        ([f"https://example.com/{w}/{i}?q=({i})" for i, w in enumerate(WORDS * 75)], ["ftp://host/a(b", "file:///C:/x"]),
    ],
)  # fmt: skip
def test_fields_may_hold_such_strings(values: list[str], odd: list[str]) -> None:
    found = told(values, odd)
    assert found is None or found.severity == "info", found.message


def test_texts_are_left_alone() -> None:
    texts = [f"The {w} (of {i}) was seen {'{' * (i % 70 == 0)} in the morning." for i, w in enumerate(WORDS * 75)]
    assert judged("odd_strings", Data({"x": texts}, kinds={"x": "text"})) == {}


def test_chance_breaks_no_rules() -> None:
    """Property: of strings of random characters nothing is said, whatever their alphabet, brackets or lengths."""
    for seed in range(0, 40, 3):
        drawn = np.random.default_rng(seed)
        alphabet = list("ACGTacgtNU()[]{}-.0123456789xyz")[: 2 + seed % 30]
        lengths = drawn.integers(1, 10 + seed * 2, 400)
        texts = ["".join(drawn.choice(alphabet, n)) for n in lengths]
        data = Data({"x": texts}, kinds={"x": "category"})
        assert {f.severity for f in judged("odd_strings", data).values()} <= {"info"}, alphabet
