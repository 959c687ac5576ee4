"""Rows of series that are not in the order of time, gaps of a single series, and rows earlier than their parent."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.checks.looking import Data, judged, judged_alone

HOURS = 1.6e9 + 3600.0 * np.arange(400)
rng = np.random.default_rng(11)
DEALT = rng.permutation(400)


def one(times: Any, splits: str | list[str] = "") -> Data:
    """A series of two measurements an hour."""
    columns = {"time": np.asarray(times), "x": np.sin(np.arange(len(times))), "y": np.cos(np.arange(len(times)))}
    return Data(columns, splits=splits, kinds={"time": "time"})


def stations(orders: list[Any]) -> Data:
    """The hours of several stations, one after the other, each in this order."""
    times = np.concatenate([HOURS[:100][order] for order in orders])
    named = [f"s{k}" for k in range(len(orders)) for _ in range(100)]
    columns = {"time": times, "station": named, "x": np.arange(len(times)) * 7919 % 1009 / 7}
    return Data(columns, kinds={"time": "time", "station": "category"})


def said(data: Data, code: str = "order-reversed") -> tuple[str, str]:
    found = judged("series", data).get(code)
    return ("", "") if found is None else (found.severity, found.message)


def test_rows_in_order_say_nothing() -> None:
    """Our promise: newest first is an order too, and so is one station after the other."""
    same = np.arange(100)
    assert said(one(HOURS)) == ("", "")
    assert said(one(HOURS[::-1])) == ("", "")
    assert said(stations([same] * 5)) == ("", "")
    assert said(stations([same, same[::-1], same])) == ("", "")
    assert said(one(HOURS[DEALT], ["train"] * 300 + ["test"] * 100)) == (
        "",
        "",
    )  # a random split, which is told as such


def test_a_series_that_was_shuffled_is_told() -> None:
    """Seen: hours of a year in no order, from which windows were cut by position; panels are often dealt out on purpose."""
    severity, message = said(one(HOURS[DEALT]))
    assert severity == "warning" and "not in time order" in message
    same, dealt = np.arange(100), rng.permutation(100)
    severity, message = said(stations([same, same, dealt, same, same]))
    assert severity == "warning" and message.startswith("100 rows are not in time order: 1 of 5 series by station")
    assert said(stations([rng.permutation(100) for _ in range(5)]))[0] == "info"


def test_a_part_that_stands_elsewhere_is_told() -> None:
    """Our promise: only where it fits without a gap: two recordings may be listed in any order."""
    severity, message = said(one(np.concatenate([HOURS[:100], HOURS[250:], HOURS[100:250]])))
    assert severity == "warning" and "jumps back" in message and "a block of rows is misplaced" in message
    assert said(one(np.concatenate([HOURS[150:], HOURS[:150] - 9e5]))) == ("", "")


def test_a_gap_of_a_single_series_is_a_warning_where_it_goes_on_for_long() -> None:
    """Seen: six days of hours that are lacking in the middle were a note."""
    assert said(one(np.delete(HOURS, range(180, 210))), "time-gap")[0] == "warning"
    assert said(one(np.delete(HOURS, range(60, 280))), "time-gap")[0] == "info"  # two recordings
    assert said(one(np.delete(HOURS, range(180, 210)), ["train"] * 180 + ["test"] * 190), "time-gap")[0] == "info"


def visits(dealt: Any) -> Data:
    """Vital signs of twelve patients at times of their own, of which some are in no order."""
    draw = np.random.default_rng(16)
    times, named = [], []
    for k in range(12):
        own = 1.6e9 + np.cumsum(draw.exponential(7200, 60))
        times.append(draw.permutation(own) if k in dealt else own)
        named += [f"p{k:02}"] * 60
    columns = {"time": np.concatenate(times), "patient": named, "pulse": draw.normal(80, 9, 720)}
    return Data(columns, kinds={"time": "time", "patient": "category"})


def test_a_patient_whose_rows_are_in_no_order_is_told() -> None:
    """Our promise: also where events come at any time; where hardly anybody's rows are in order, none need be."""
    severity, message = said(visits((4,)))
    assert severity == "warning" and "not in time order: 1 of 12 series by patient" in message
    assert said(visits(())) == ("", "")
    assert said(visits(range(12))) == ("", "")
    assert said(visits(range(7))) == ("", "")


def mails(early: Any = (), skew: float = 60.0) -> Data:
    """Mails that answer an earlier one each."""
    draw = np.random.default_rng(12)
    sent = 1.6e9 + np.cumsum(draw.random(300) * 7200)
    answers = [0, *(int(draw.integers(0, i)) for i in range(1, 300))]
    for i in range(1, 300):
        sent[i] = max(sent[i], sent[answers[i]] - skew)
    for i in early:
        sent[i] = sent[answers[i]] - 86_400
    columns = {"id": [f"m{i:03}" for i in range(300)], "sent": sent, "text": [f"words {i}" for i in range(300)]}
    columns["in_reply_to"] = ["", *(f"m{k:03}" for k in answers[1:])]
    return Data(columns, kinds={"sent": "time", "text": "text"}, context={"time": "sent"})


BEFORE_SILENT = {"replies": mails(), "a clock that is a minute slow": mails(skew=120.0)}
BEFORE_SPEAKS = {"a day before what it answers": (mails(early=(297, 298, 299)), "order-reversed", "warning")}


def test_replies_before_their_mail_are_told() -> None:
    """Seen: replies dated a day before the mail that they answer."""
    found = judged_alone("before_parent", mails(early=(297, 298, 299)))["order-reversed"]
    assert found.count == 3 and {place["sample"] for place in found.where} == {297, 298, 299}
    assert "sent is earlier than in the parent row (in_reply_to) in 3 of 299 rows" in found.message


def test_a_later_change_may_come_before_a_reply() -> None:
    """Our promise: where one time agrees with who came first, another may tell when a row was changed."""
    changed = mails()
    updated = np.asarray(changed.columns["sent"]).copy()
    updated[:12] += 9e6
    columns = {**changed.columns, "updated_at": updated}
    kinds = {"sent": "time", "text": "text", "updated_at": "time"}
    assert judged_alone("before_parent", Data(columns, kinds=kinds, context={"time": "sent"})) == {}
