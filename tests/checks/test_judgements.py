"""Each check's judgement, as two tables: where it says nothing, and where it speaks; the rows are in the modules of their rooms."""

from __future__ import annotations

from typing import Any

import pytest

from tests.checks import relations
from tests.checks.judgements import (
    columns,
    duplicates,
    files,
    giveaways,
    images,
    labels,
    series,
    sounds,
    splits,
    texts,
    tokens,
)
from tests.checks.looking import Data, judged

ROOMS = (relations, columns, duplicates, files, giveaways, images, labels, series, sounds, splits, texts, tokens)
SILENT = {check: rows for room in ROOMS for check, rows in room.SILENT.items()}
SPEAKS = {check: rows for room in ROOMS for check, rows in room.SPEAKS.items()}


def rows(table: dict[str, dict[str, Any]]) -> list[Any]:
    return [
        pytest.param(check, row, id=f"{check}: {name}") for check, named in table.items() for name, row in named.items()
    ]


@pytest.mark.parametrize(("check", "data"), rows(SILENT))
def test_a_check_says_nothing_when(check: str, data: Data) -> None:
    """Our promise: what is as it should be raises nothing above an info."""
    found = judged(check, data)
    assert {f.code: f.message for f in found.values() if f.severity != "info"} == {}


@pytest.mark.parametrize(("check", "row"), rows(SPEAKS))
def test_a_check_speaks_when(check: str, row: tuple[Data, str, str]) -> None:
    """Our promise: the code and its severity, however the samples were dealt out to processes."""
    data, code, severity = row
    found = judged(check, data)
    assert code in found, found
    assert found[code].severity == severity
    assert found[code].evidence


def test_every_check_has_both_tables() -> None:
    """Our promise: a check that is added comes with rows where it is silent; one that judges, with rows where not."""
    from dataloader_expert.checks.base import all_checks

    checks = all_checks()
    assert set(SILENT) == set(checks)
    assert set(SPEAKS) == {name for name, check in checks.items() if check.ids}
