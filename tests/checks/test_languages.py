"""Texts in another language than nearly all others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataloader_expert.checks.texts.languages import LANGUAGES, language_of
from tests.checks.looking import Data

rng = np.random.default_rng(41)
ENGLISH = [
    f"The {a} of the {b} is {c} and it was late" for a, b, c in rng.choice(["train", "door", "old", "red"], (300, 3))
]
GERMAN = [f"Die {a} ist nicht {b} und der {c} auch" for a, b, c in rng.choice(["Tür", "Bahn", "alt", "rot"], (300, 3))]


def reviews(german: int, **more: Any) -> Data:
    texts = [*GERMAN[:german], *ENGLISH[german:]]
    columns = {"text": texts, "label": ["good", "bad"] * 150, **more}
    return Data(columns, "label", kinds={"text": "text", **dict.fromkeys(more, "text")})


SILENT: dict[str, Data] = {
    "texts of one language": reviews(0),
    "a few": reviews(3),
    "two languages": reviews(120),
    "a field that tells the language": Data(
        {"text": reviews(20).columns["text"], "lang": ["de"] * 20 + ["en"] * 280}, kinds={"text": "text"}
    ),
    "translations beside": reviews(20, translation=GERMAN),
}
SPEAKS: dict[str, tuple[Data, str, str]] = {
    "some that were not translated": (reviews(20), "suspicious-text", "warning"),
    "beside another text, as of requests to translate": (reviews(20, answer=ENGLISH), "suspicious-text", "info"),
}


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Cannot open the file, as it is not there", "English"),
        ("Die Datei kann nicht gelesen werden", "German"),
        ("Impossible de lire le fichier, il est dans une autre partie", "French"),
        ("No se puede leer el archivo porque está en otra parte del disco", "Spanish"),
        ("os arquivos não são lidos, mas as pastas são do utilizador", "Portuguese"),
        ("Rue de la Gaîté", None),
        ("kernel panic", None),
        ("", None),
    ],
)
def test_a_language_is_told_by_its_common_words(text: str, language: str | None) -> None:
    found = language_of(text)
    assert (LANGUAGES[found] if found >= 0 else None) == language
