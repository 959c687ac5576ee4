"""Which columns are taken for the split, the group, the time and keys; and which are left alone."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert.sources.base import Block, Column, Roles, Unit
from dataloader_expert.sources.roles import find_roles
from dataloader_expert.sources.table_fields import field_of

N = 120
VALUES = np.random.default_rng(3).normal(0, 1, N)
REPEATED = [f"{i % 30}" for i in range(N)]
PASSAGES = [f"a passage of many words, the {i % 30}th of all that were written" for i in range(N)]
DAYS = [f"2023-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(N)]


def roles(columns: dict[str, Any], label: str | None = None, named: bool = False) -> Roles:
    made = {k: Column(v) for k, v in columns.items()}
    fields = [field_of(k, c) for k, c in made.items()]
    return find_roles([Block(Unit(0, "", 0, N, 0), made)], fields, label, named)


def found(columns: dict[str, Any], label: str | None = None) -> dict[str, Any]:
    r = roles(columns, label)
    named = {"split": r.split, "group": r.group, "time": r.time}
    return {k: v.field for k, v in named.items() if v is not None} | (
        {"keys": [k.field for k in r.keys]} if r.keys else {}
    )


TAKEN: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "values that name splits": ({"part": ["train", "val"] * 60}, {"split": "part"}),
    "in capitals": ({"Usage": ["Training", "PublicTest", "PrivateTest"] * 40}, {"split": "Usage"}),
    "a flag of training": ({"is_train": np.array([1, 1, 0] * 40)}, {"split": "is_train"}),
    "one split so far": ({"split": ["train"] * N}, {"split": "split"}),
    "patients": ({"patient": REPEATED}, {"group": "patient"}),
    "numbers of patients": ({"patient_nbr": np.arange(N) % 30 + 80_000}, {"group": "patient_nbr"}),
    "users by id": ({"userId": np.arange(N) % 20}, {"group": "userId"}),
    "a session's key": ({"session_key": REPEATED}, {"group": "session_key"}),
    "codes that repeat": ({"sample": [f"AB-{i % 40:04d}" for i in range(N)]}, {"group": "sample"}),
    "recordings that clips were cut from": ({"src_file": 10_000 + np.arange(N) // 2 * 37}, {"group": "src_file"}),
    "passages about which there are several questions": ({"context": PASSAGES}, {"group": "context"}),
    "dates": ({"taken": DAYS}, {"time": "taken"}),
    "dates under another name": ({"x": DAYS}, {"time": "x"}),
    "seconds since 1970": ({"created": 1.6e9 + 1e5 * np.arange(N)}, {"time": "created"}),
    "hours rather than their months": (
        {
            "month": [f"2024-0{1 + i // 40}" for i in range(N)],
            "ts": [f"2024-0{1 + i // 40}-03 {i % 24:02}:{i // 24:02}" for i in range(N)],
        },
        {"time": "ts"},
    ),
    "numbers of things": ({"cask_no": np.arange(N) * 977 % 100_003}, {"keys": ["cask_no"]}),
    "a running number": ({"visit": 1000 + np.random.default_rng(0).permutation(N)}, {"keys": ["visit"]}),
    "distinct ids": ({"image_id": np.arange(N) * 977 % 100_003}, {"keys": ["image_id"]}),
    "UUID-like codes": ({"ref": [f"{random.Random(i).getrandbits(64):016x}" for i in range(N)]}, {"keys": ["ref"]}),
}
LEFT: dict[str, dict[str, Any]] = {
    "families of species": {"family": [f"Rosaceae {i % 30}" for i in range(N)], "genus": ["Rosa", "Malus"] * 60},
    "a prompt for all": {"prompt": ["You are a helpful assistant. Answer briefly, and say what you do not know."] * N},
    "texts that recur under another name": {"answer": PASSAGES},
    "a passage for each": {
        "context": [f"a passage of many words, the {i}th of all that were written" for i in range(N)]
    },
    "measured values": {"x": VALUES},
    "two files that rows were read from": {"source_file": [f"part {i // 60}" for i in range(N)]},
    "whole numbers of wide range": {"price": np.random.default_rng(0).integers(0, 10**9, N)},
    "codes of a category": {"zone": [f"z{i % 4}" for i in range(N)]},
    "kinds of a test": {"test_type": ["blood test", "eye test"] * 60},
    "words": {"colour": ["red", "green", "blue"] * 40},
    "a stage of training among stages": {"stage": ["warm up", "train", "cool down"] * 40},
    "births": {"birth_date": DAYS},
    "durations": {"duration": VALUES + 5},
    "classes by id": {"class_id": np.arange(N) % 5},
    "years of no time": {"horsepower": np.arange(N) % 60 + 50},
    "sentences": {"text": [f"a sentence of several words {i}" for i in range(N)]},
}


@pytest.mark.parametrize("name", TAKEN)
def test_a_column_is_taken_for_what_it_is(name: str) -> None:
    columns, expected = TAKEN[name]
    assert found({**columns, "measured": VALUES}) == expected


@pytest.mark.parametrize("name", LEFT)
def test_a_column_is_left_alone(name: str) -> None:
    assert found({**LEFT[name], "measured": VALUES}) == {}


def test_a_label_has_no_other_role_and_files_come_before_columns() -> None:
    assert found({"patient": REPEATED, "x": VALUES}, label="patient") == {}
    assert roles({"part": ["train", "val"] * 60}, named=True).split is None


def test_splits_that_share_a_usual_name_keep_their_own() -> None:
    r = roles({"Usage": ["Training", "PublicTest", "PrivateTest"] * 40})
    assert {r.split_of(v) for v in ("Training", "PublicTest", "PrivateTest")} == {"train", "PublicTest", "PrivateTest"}
    assert r.split_of(None) is None


@given(
    st.lists(
        st.one_of(
            st.none(),
            st.text(max_size=8),
            st.integers(),
            st.floats(),
            st.booleans(),
            st.lists(st.integers()),
            st.just({}),
        ),
        min_size=1,
        max_size=30,
    )
)
def test_no_values_break_the_search_for_roles(values: list[Any]) -> None:
    r = roles({"split": values, "patient_id": values, "date": values, "x": values})
    assert all(role["how"] for role in r.listed())
