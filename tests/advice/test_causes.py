"""Which finding comes first, and which are told as one."""

from __future__ import annotations

from dataloader_expert.advice.causes import cause, grouped, in_a_sentence, ordered
from dataloader_expert.conclusions import Finding


def found(code: str, severity: str = "warning", cost: float | None = None, field: str | None = None) -> Finding:
    where = () if field is None else ({"field": field},)
    return Finding(code, severity, f"{code} is seen", ({"fact": "x"},), "mend it", where, 2, cost)  # type: ignore[arg-type]


def test_errors_come_first_and_then_what_costs_most() -> None:
    """Our promise: findings are in the order in which they are worth mending."""
    given = [found("a", "info", 0.05), found("b"), found("c", cost=0.2), found("d", "info", 0.6), found("e", "error")]
    assert [f.code for f in ordered(given)] == ["e", "d", "c", "b", "a"]


def test_a_summary_begins_with_a_cause_and_not_with_a_symptom() -> None:
    """Our promise: the first sentence is what to mend, with its cure."""
    first = cause([found("accelerator-starves", cost=0.9), found("inflate-per-sample", cost=0.4), found("x", "info")])
    assert first is not None and first.code == "inflate-per-sample"
    assert in_a_sentence(first) == "Inflate-per-sample is seen. Fix: mend it."
    assert cause([found("x", "info")]) is None
    dear = cause([found("collector-pauses", "info", 0.4), found("x")])
    assert dear is not None and dear.code == "collector-pauses"


def test_where_the_time_goes_is_not_told_before_what_is_wrong() -> None:
    """Seen: 'goes to conv2d' came before the threads that were the cause, and before a tenth of the samples being replaced."""
    line, slow = found("costly-line", "info", 0.6), found("slow-metadata", cost=0.3)
    given = [line, slow, found("too-many-threads"), found("errors-hidden")]
    assert [f.code for f in ordered(given)] == ["errors-hidden", "slow-metadata", "too-many-threads", "costly-line"]
    assert cause([line]) is None


def test_what_costs_nothing_is_not_what_to_mend_first() -> None:
    """Seen: reading too much was the headline where reading took none of the time."""
    given = [found("read-amplification", cost=0.001), found("nan")]
    assert [f.code for f in ordered(given)] == ["nan", "read-amplification"]
    assert cause([found("read-amplification", cost=0.001), found("costly-line", "info")]) is None


def test_findings_that_differ_by_field_only_are_told_as_one() -> None:
    """Our promise: thirty-two fields are one finding, with their places and their sum; two, or places in files, stay."""
    many = [found("constant-field", field=f"f{i}") for i in range(32)]
    other = [found("nan", field="f0"), found("nan", field="f1"), found("opened-per-sample")]
    [one, *rest] = grouped([*many, *other])
    assert one.message.startswith("32 fields (f0, f1, f2, f3, f4, …); for the first: ")
    assert (one.count, len(one.where)) == (64, 20)
    assert rest == other
