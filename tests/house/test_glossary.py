"""The glossary is what the code declares."""

from __future__ import annotations

from pathlib import Path

from dataloader_expert.tools.glossary import glossary

PAGE = Path(__file__).parents[2] / "docs" / "glossary.md"


def test_the_glossary_is_generated_from_the_declarations() -> None:
    """Our promise: a quantity is declared once."""
    assert PAGE.read_text(encoding="utf-8") == glossary()
