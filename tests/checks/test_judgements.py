"""Each check's judgement, as two tables: where it says nothing, and where it speaks; the rows are in the modules of their rooms."""

from __future__ import annotations

import traceback

import pytest

from dataloader_expert.conclusions import Finding
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


def found_in(check: str, data: Data) -> dict[str, Finding] | str:
    """What a check finds in a row, or how it fails: the rows after it are judged all the same."""
    try:
        return judged(check, data)
    except Exception:  # whatever a check raises is told with its row
        return traceback.format_exc()


@pytest.mark.parametrize("check", SILENT)
def test_a_check_says_nothing_in_its_silent_rows(check: str) -> None:
    """Our promise: what is as it should be raises nothing above an info."""
    wrong = []
    for name, data in SILENT[check].items():
        found = found_in(check, data)
        if isinstance(found, str) or any(f.severity != "info" for f in found.values()):
            wrong.append(f"{name}: {found}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("check", SPEAKS)
def test_a_check_speaks_in_the_others(check: str) -> None:
    """Our promise: the code and its severity, however the samples were dealt out to processes."""
    wrong = []
    for name, (data, code, severity) in SPEAKS[check].items():
        found = found_in(check, data)
        told = None if isinstance(found, str) else found.get(code)
        if told is None or told.severity != severity or not told.evidence:
            wrong.append(f"{name}: not {code}, {severity}, but {found}")
    assert not wrong, "\n".join(wrong)


def test_every_check_has_both_tables() -> None:
    """Our promise: a check that is added comes with rows where it is silent; one that judges, with rows where not."""
    from dataloader_expert.checks.base import all_checks

    checks = all_checks()
    assert set(SILENT) == set(checks)
    assert set(SPEAKS) == {name for name, check in checks.items() if check.ids}
