"""What a cell of text holds."""

from __future__ import annotations


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
