"""Pixels that were decoded and used, from the readings of several processes."""

from __future__ import annotations

from dataclasses import asdict

from dataloader_expert.probes.profile.pixels import Pixels


def test_readings_of_several_processes_add_up() -> None:
    """Our promise: each worker's first reading is no count of its own, and no count takes another's name."""
    one = (asdict(Pixels(100, 10, 50)), asdict(Pixels(400, 40, 110)))
    two = (asdict(Pixels()), asdict(Pixels(500, 20, 140)))
    counted = Pixels.between([one, two])
    assert counted == Pixels(decoded=800, used=50, least=200)
    assert counted.each(10) == {"decoded_pixels": 80, "used_pixels": 5, "least_pixels": 20}
    assert Pixels.between([]) == Pixels()
