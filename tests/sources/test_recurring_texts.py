"""Texts of a table that recur by nature in records of their own, and those that are copies."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from tests.making.scanning import scan

DRAW = random.SystemRandom()
OPENINGS = ["e4 e5 Nf3 Nc6 Bc4 Bc5", "d4 Nf6 c4 e6 Nc3", "e4 c5 Nf3 d6", "d4 d5 c4 e6"]


def game(moves: str) -> dict[str, Any]:
    white, black = DRAW.sample(range(30), 2)
    rated = {f"{side}_rating": DRAW.randrange(800, 2400) for side in ("white", "black")}
    return {"white": f"player{white}", "black": f"player{black}", **rated, "moves": moves, "turns": len(moves.split())}


def games(n: int) -> list[dict[str, Any]]:
    """Games, one in twenty of which was given up after its opening."""
    long = [" ".join(f"{DRAW.choice('abcdefgh')}{DRAW.randrange(1, 9)}" for _ in range(60)) for _ in range(n)]
    return [game(OPENINGS[i // 20 % 4] if i % 20 == 0 else f"{OPENINGS[i % 4]} {rest}") for i, rest in enumerate(long)]


def codes(folder: Path, rows: list[dict[str, Any]]) -> set[str]:
    (folder / "games.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return {f.code for f in scan(folder, folder).findings if f.severity != "info"}


def test_games_that_were_given_up_early_are_no_copies(tmp_path: Path) -> None:
    """Our promise: a few moves do not make a game what it is."""
    assert not codes(tmp_path, games(400)) & {"duplicate-samples", "near-duplicates"}


def test_a_game_that_is_there_twice_is_a_copy(tmp_path: Path) -> None:
    """Our promise: whoever is said to have played it."""
    rows = games(400)
    assert "duplicate-samples" in codes(tmp_path, [*rows, *(game(row["moves"]) for row in rows[1:4])])
