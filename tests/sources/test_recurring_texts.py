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


def sentences(n: int) -> list[list[str]]:
    """Sentences of tagged tokens, one in ten of which is the place and the date above a message."""
    towns = ["Lima", "Riga", "Oslo", "Bern", "Kiev"]
    found = []
    for i in range(n):
        long = [f"w{DRAW.randrange(5000)}" for _ in range(DRAW.randrange(8, 30))]
        found.append([DRAW.choice(towns), f"1996-08-{DRAW.randrange(10, 20)}"] if i % 10 == 0 else long)
    return found


def tagged(folder: Path, train: list[list[str]], test: list[list[str]]) -> set[str]:
    for name, rows in (("train", train), ("test", test)):
        text = "\n\n".join("\n".join(f"{word} O" for word in row) for row in rows)
        (folder / f"{name}.conll").write_text(text + "\n", encoding="utf-8")
    return {f.code for f in scan(folder, folder).findings if f.severity != "info"}


def test_datelines_above_messages_are_no_copies(tmp_path: Path) -> None:
    """Our promise: what is as short as only they are comes again by nature."""
    assert not tagged(tmp_path, sentences(600), sentences(200)) & {"duplicate-samples", "splits-overlap"}


def test_a_sentence_in_both_splits_is_a_copy_beside_them(tmp_path: Path) -> None:
    train = sentences(600)
    assert "splits-overlap" in tagged(tmp_path, train, [*sentences(200), train[1], train[2]])
