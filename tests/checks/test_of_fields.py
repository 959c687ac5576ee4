"""One mistake that concerns many fields is one finding."""

from __future__ import annotations

from dataloader_expert.conclusions import Finding, joined


def of(field: str, code: str = "preprocessing-differs", **place: int | str) -> Finding:
    return Finding(
        code, "error", f"{field} is on another scale", ({"fact": field},), "scale it", ({"field": field} | place,)
    )


def test_findings_on_fields_that_differ_in_nothing_else_are_one() -> None:
    """Seen: 27 errors, one for each column of a training split that was scaled before it was written."""
    fields = [f"f{i}" for i in range(27)]
    made = joined([of(name, split="test") for name in fields])
    assert [len(f.where) for f in made] == [20, 7]  # a finding names twenty places at most, and none is lost
    assert [place["field"] for f in made for place in f.where] == fields
    assert sum(f.count for f in made) == 27
    assert made[0].message == (
        "20 fields: f0 is on another scale; f1 is on another scale; f2 is on another scale; and 17 more"
    )


def test_what_differs_or_has_places_in_the_data_stays_apart() -> None:
    """Our promise: nothing that a reader must look at by itself is hidden in a list."""
    few = [of(f"f{i}", split="test") for i in range(3)]
    assert joined(few) == few
    others = [*few, of("f3", split="val"), of("f4", "feature-drift", split="test"), of("f5", split="test", sample=3)]
    assert joined(others) == others
