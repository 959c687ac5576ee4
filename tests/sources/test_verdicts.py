"""Why there is no verdict: the sentence names what happened."""

from __future__ import annotations

from dataloader_expert.facts import Fact, Facts, Json
from dataloader_expert.probes.base import evidence
from dataloader_expert.probes.data.scan import CHECKS_FAILED, SCANNED
from dataloader_expert.probes.system.outside import FAILED
from dataloader_expert.tools.recipes.check_quality import undecided


def facts(read: int, total: int, checks: list[Json], ended: str | None) -> Facts:
    found = [Fact(SCANNED, {"read": read, "failed": 0, "total": total}, evidence("counted", "scan"))]
    found += [Fact(CHECKS_FAILED, checks, evidence("counted", "scan"))] if checks else []
    found += [Fact(FAILED, ended, evidence("counted", "scan"))] if ended else []
    return Facts(tuple(found))


def test_samples_that_were_not_read_are_said_first() -> None:
    said = undecided(facts(7, 80, ["relations"], None), "7 of 80 samples were read")
    assert said == "only 7 of 80 samples were read"


def test_a_check_that_failed_itself_is_named_where_all_samples_were_read() -> None:
    said = undecided(facts(80, 80, ["relations"], None), "80 samples were read")
    assert said == "80 samples were read, but 1 check failed on these data, relations: unknowns say what was not judged"


def test_an_early_end_is_said_with_its_reason() -> None:
    said = undecided(facts(80, 80, [], "the time limit of 9 s"), "80 samples were read")
    assert said == "80 samples were read, but the checks did not finish (the time limit of 9 s)"
