"""Numbers that went round, marks on another scale, and recordings upside down: where nothing is said, and where something is."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataloader_expert.sources.base import Role, Roles
from tests.checks.looking import Data, judged

N = 3_000
draw = np.random.default_rng(17)
USAGE = np.exp(draw.normal(9.3, 0.7, N)).astype(np.int64)
BELOW = np.rint(draw.normal(12, 9, N)).astype(np.int64)


def column(values: Any) -> Data:
    return Data({"usage": np.asarray(values), "x": draw.normal(0, 1, len(values))})


SINE = np.rint(32_760 * np.sin(np.arange(N) * 0.37)).astype(np.int64)
WRAPPED_SILENT = {
    "wide enough": column(USAGE),
    "cut at the largest of 16 bits": column(np.minimum(USAGE, 32_767)),
    "a tone at full scale": column(SINE),
    "noise around zero": column(np.clip(np.rint(draw.normal(0, 9_000, N)), -32_768, 32_767).astype(np.int64)),
    "ids of 16 bits": column(draw.integers(0, 65_536, N)),
    "a mark of what is missing": column(np.where(np.arange(N) % 20 == 0, 65_535, np.abs(BELOW))),
    "longitudes": column(np.clip(np.rint(np.where(np.arange(N) % 4 == 0, 110 + BELOW / 2, -90 + BELOW)), -128, 127)),
    "codes of errors at the lower end": column(
        np.where(np.arange(N) % 30 == 0, -32_768 + np.arange(N) % 7, np.minimum(USAGE, 32_767))
    ),
}
WRAPPED_SPEAK = {
    "narrowed to 16 bits": (column(USAGE.astype(np.int16)), "scale-drift", "warning"),
    "stored as doubles since": (column(USAGE.astype(np.int16).astype(np.float64)), "scale-drift", "warning"),
    "below zero without a sign": (column(BELOW.astype(np.uint16)), "scale-drift", "warning"),
}


def marks(factor: float = 1.0, odd: int = 20, top: int = 5, counts: bool = False) -> Data:
    """Marks of a hundred users, of whom some give more, and up to a multiple."""
    own = np.random.default_rng(18)
    user = np.arange(N) % 100
    mark = own.integers(2, 2 * top + 1, N) / 2
    if counts:
        mark = own.geometric(0.3, N).astype(float)
    mark = np.where(user < odd, np.rint(mark * factor), mark)
    roles = Roles(group=Role("user_id", "by its name"))
    return Data({"user_id": user, "rating": mark}, context={"roles": roles}, kinds={"rating": "number"})


def from_apps(factor: float = 20.0, named: str = "app", counts: bool = False, fine: bool = False) -> Data:
    """Marks of three apps, of which one goes up to a multiple."""
    own = np.random.default_rng(21)
    app = np.arange(N) % 5
    mark = own.choice(5, N, p=[0.05, 0.1, 0.25, 0.4, 0.2]) + 1.0
    if counts:
        mark = own.geometric(0.3, N).astype(float)
    other = own.integers(1, 101, N) if fine else mark * factor
    mark = np.where(app == 2, other, mark)
    return Data(
        {named: [f"app {k % 3}" for k in app], "stars": mark},
        kinds={named: "category", "stars": "number"},
    )


MARKS_SILENT = {
    "one scale": marks(),
    "half of the users on another one, so that nobody knows which is usual": marks(2.0, odd=50),
    "a few who give far more, as of things that are counted": marks(3.0, counts=True),
    "ends that are no multiple": marks(1.4),
    "two users": marks(2.0, odd=2),
    "one scale of all apps": from_apps(1.0),
    "a scale that is named": from_apps(named="scale"),
    "packs of two": from_apps(2.0, counts=True),
}
MARKS_SPEAK = {
    "up to ten": (marks(2.0), "scale-drift", "warning"),
    "of one app": (from_apps(), "scale-drift", "warning"),
    "of one app, up to ten": (from_apps(2.0), "scale-drift", "warning"),
    "up to a hundred": (marks(20.0), "scale-drift", "warning"),
}


def beats(
    odd: tuple[int, ...] = (3, 7), sign: float = -1.0, noise: float = 0.2, leads: int = 1, classed: bool = False
) -> Data:
    """Heart beats of twelve subjects, of whom some have the other sign in one lead."""
    own = np.random.default_rng(19)
    subject, steps = np.arange(360) % 12, np.linspace(-1, 1, 60)
    beat = np.exp(-((steps / 0.08) ** 2)) + 0.3 * np.exp(-(((steps - 0.5) / 0.2) ** 2))
    label = (np.arange(360) // 12) % 3 == 0
    turned = np.isin(subject, odd)
    signs = np.where(turned & (label if classed else True), sign, 1.0)
    made = np.stack([beat * (1.0 - 0.4 * k) for k in range(leads)])[None] + own.normal(0, noise, (360, leads, 60))
    made[:, -1] = made[:, -1] * signs[:, None]
    x = made[:, 0] if leads == 1 else made
    roles = Roles(group=Role("subject", "by its name"))
    names = [f"s{k}" for k in subject]
    return Data(
        {"x": x.astype(np.float32), "subject": names, "label": label.astype(int)},
        "label",
        context={"roles": roles},
        kinds={"subject": "category"},
    )


BEATS_SILENT = {
    "one sign": beats(sign=1.0),
    "half of the subjects": beats(tuple(range(6))),
    "beats of a rarer class only": beats(classed=True),
    "windows that begin anywhere": beats(noise=60.0),
}
BEATS_SPEAK = {
    "two subjects": (beats(), "scale-drift", "warning"),
    "one of two leads": (beats(leads=2), "scale-drift", "warning"),
}


def test_who_uses_the_other_scale_is_said() -> None:
    """Seen: 60 users gave up to 10 where the others gave up to 5, and nothing was said."""
    found = judged("rating_scales", marks(2.0))["scale-drift"]
    assert found.count == N // 5 and "up to 10 for 20 values of user_id" in found.message


def test_the_lead_that_is_upside_down_is_named() -> None:
    assert judged("reversed_signs", beats(leads=2))["scale-drift"].message.startswith("x[1] seems")
