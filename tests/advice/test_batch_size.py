"""The advised batch size and its limit: of the loader, of the model, of devices."""

from __future__ import annotations

import pytest

from dataloader_expert.advice.batch_size import accumulation_advice, batch_advice, evaluation_size, limit, on_cards
from dataloader_expert.advice.models import refusing
from dataloader_expert.facts import Fact, Facts, Json
from dataloader_expert.probes.base import evidence
from dataloader_expert.probes.data.layout import PRESENT, SAMPLES
from dataloader_expert.probes.model.batch import BATCH, BATCH_SIZE_USED
from dataloader_expert.probes.model.check import MODEL, NOT_MADE
from dataloader_expert.probes.model.fitting import Fit, Line
from dataloader_expert.probes.model.memory import DEVICE_LIMIT, MEMORY_FIT
from dataloader_expert.probes.model.sizes import chosen_size
from dataloader_expert.tools.recipes.batch_findings import of_another_size, of_one

SEEN = evidence("counted", "x", seen=1)
LINE = Fit({"backward": (Line(1e8, 1e7),)}, (8, 64, 512), True)


def facts(*given: Fact) -> Facts:
    return Facts(given)


def found(value: int, failed: int | None, room: float) -> Fact:
    return Fact(DEVICE_LIMIT, {"value": value, "failed": failed, "trials": 3, "room": int(room), "margin": 0.1}, SEEN)


@pytest.mark.parametrize("share", [0.8, 0.97])
def test_a_device_loses_as_much_to_fragmentation_as_the_limit_found_on_it(share: float) -> None:
    """Our promise: one device, one limit, whichever way it is told. Seen: what blocks waste of half a gigabyte was taken off 80."""
    room = (8 << 30) * 0.9
    value = int(share * LINE.largest(room))
    fit = Fact(MEMORY_FIT, LINE.to_json(), SEEN)
    told = on_cards(facts(found(value, value + 9, room), fit), 0.1, 0)
    assert told["8 GB"] == pytest.approx(value, abs=1)
    assert told["80 GB"] == pytest.approx(0.95 * LINE.largest(room * 10), rel=0.02)
    small = on_cards(facts(found(value // 16, value // 16 + 9, room / 16), fit), 0.1, 0)
    assert small == on_cards(facts(fit), 0.1, 0)
    untold = on_cards(facts(found(value, None, room), fit), 0.1, 0)
    assert untold["8 GB"] == pytest.approx(0.95 * LINE.largest(room), rel=0.01)


def test_where_no_sample_fits_the_limit_is_none() -> None:
    assert limit(facts(Fact(SAMPLES, 50, SEEN), found(0, 1, 1e6)), 1 << 34, 1 << 30, 0.1)["value"] == 0


@pytest.mark.parametrize(("most", "steps"), [(0, []), (100, [6])])
def test_where_no_sample_fits_no_smaller_batch_is_advised(most: int, steps: list[int]) -> None:
    """Seen: gradients of 512 batches of one were to be accumulated, of which none fits."""
    known = facts(found(most, most + 1, 1e6), Fact(BATCH, {"structure": "x", "fields": []}, SEEN))
    assert [a.value for a in accumulation_advice(known, max(1, most), 512)] == steps
    assert [a.value for a in batch_advice(known, max(1, most), "lowered", None)] == [most] * bool(most)


@pytest.mark.parametrize(("most", "size", "why"), [(90, 24, "the loader's own"), (9, 9, "lowered to the limit")])
def test_the_size_of_the_users_loader_is_called_so(most: int, size: int, why: str) -> None:
    got, words = chosen_size(facts(Fact(PRESENT, {"batch_size": 24}, SEEN)), None, most)
    assert got == size
    assert why in words
    assert "given" not in words
    assert chosen_size(facts(Fact(PRESENT, {"batch_size": 24}, SEEN)), 16, 90) == (16, "as given")


@pytest.mark.parametrize(("samples", "codes"), [(120, []), (130, ["last-batch-breaks-model"])])
def test_a_model_of_one_size_of_batch_bounds_it(samples: int, codes: list[str]) -> None:
    made = facts(Fact(SAMPLES, samples, SEEN), Fact(MODEL, {**NOT_MADE, "accepted": True, "only": 20}, SEEN))
    assert limit(made, 1 << 34, None, 0.1)["value"] == 20
    assert chosen_size(made, None, 20)[0] == 20
    assert [f.code for f in of_another_size(made)] == codes


@pytest.mark.parametrize(
    ("size", "breaks", "told"), [(1, True, ["error"]), (1, False, []), (2, True, []), (3, True, ["info"])]
)
def test_batches_of_one_that_batch_normalisation_refuses_are_an_error(size: int, breaks: bool, told: list[str]) -> None:
    """Seen: batch_size=1 was accepted for a model that raises in its first training step."""
    check = {**NOT_MADE, "accepted": True, "call": [""], "breaks_on_one": breaks}
    made = facts(Fact(SAMPLES, 130, SEEN), Fact(MODEL, check, SEEN))
    assert [f.severity for f in of_one(made, size)] == told


@pytest.mark.parametrize(("drops", "told"), [(None, ["info"]), (False, ["error"]), (True, [])])
def test_a_last_batch_of_one_that_is_left_out_is_none(drops: bool | None, told: list[str]) -> None:
    """Seen: a loader with drop_last=True was said to leave a last batch of one."""
    check = {**NOT_MADE, "accepted": True, "call": [""], "breaks_on_one": True}
    loader = [] if drops is None else [Fact(PRESENT, {"batch_size": 3, "drop_last": drops}, SEEN)]
    made = facts(Fact(SAMPLES, 130, SEEN), Fact(MODEL, check, SEEN), *loader)
    assert [f.severity for f in of_one(made, 3)] == told


@pytest.mark.parametrize("code", ["model-raises", "label-out-of-range", "shape-mismatch"])
def test_what_no_change_of_the_batch_mends_is_an_error(code: str) -> None:
    misfit: dict[str, Json] = {"code": code, "field": "training mode", "says": "it raises", "cured": False}
    told = list(refusing(facts(Fact(MODEL, {**NOT_MADE, "ran": "real", "error": "x", "misfits": [misfit]}, SEEN))))
    assert [(f.code, f.severity) for f in told] == [(code, "error")]


def test_one_card_has_one_limit() -> None:
    """Seen: 243 samples at most for a device of 16 GB, beside 251 on a card of 16 GB."""
    room = 16e9 * 0.9
    value = int(0.97 * LINE.largest(room))
    told = on_cards(facts(found(value, value + 9, room), Fact(MEMORY_FIT, LINE.to_json(), SEEN)), 0.1, 0)
    assert told["16 GB"] == value < told["24 GB"]


def test_batches_that_come_ready_keep_their_size() -> None:
    """Seen: 32 samples a batch, as a usual start, of a loader whose dataset yields batches of 256."""
    ready = facts(Fact(PRESENT, {"batch_size": None}, SEEN), Fact(BATCH_SIZE_USED, [256, 256, 40], SEEN))
    assert chosen_size(ready, None, 10**6)[0] == 256
    assert "limit" not in chosen_size(ready, None, 256)[1]
    assert "above the limit of 128" in chosen_size(ready, None, 128)[1]
    assert evaluation_size(ready, 256, 10**6) == 256
