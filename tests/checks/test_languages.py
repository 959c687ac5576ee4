"""Texts in another language than nearly all others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dataloader_expert.checks.texts.languages import LANGUAGES, language_of
from tests.checks.looking import Data, judged_alone
from tests.making.scanning import scan

rng = np.random.default_rng(41)
ENGLISH = [
    f"The {a} of the {b} is {c} and it was late" for a, b, c in rng.choice(["train", "door", "old", "red"], (300, 3))
]
GERMAN = [f"Die {a} ist nicht {b} und der {c} auch" for a, b, c in rng.choice(["Tür", "Bahn", "alt", "rot"], (300, 3))]

DANISH = [f"Den {a} er ikke {b} og det var {c} af dem" for a, b, c in rng.choice(["dør", "tog", "gammel"], (300, 3))]
NORWEGIAN = [text.replace(" af ", " av ") for text in DANISH]


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
    "a class that is a language": Data(
        {"text": reviews(20).columns["text"], "label": ["de"] * 20 + ["en"] * 280}, "label", kinds={"text": "text"}
    ),
    "a main language that is close to others": Data(
        {"text": [*DANISH, *NORWEGIAN[:20]], "label": ["good", "bad"] * 160}, "label", kinds={"text": "text"}
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
        ("Det er ikke den bedste film, men den har noget af det", "Danish or Norwegian"),
        ("Hva er det som skjer på hytta", "Danish or Norwegian"),
        ("To je v pořádku a přišlo to do druhého dne, jak jsem chtěl", "Czech or Slovak"),
        ("Die boek is baie goed en ek het van dit gehou", "Afrikaans"),
        ("Dit is niet wat ik wilde, maar het werkt", "Dutch"),
        ("Rue de la Gaîté", None),
        ("kernel panic", None),
        ("", None),
    ],
)
def test_a_language_is_told_by_its_common_words(text: str, language: str | None) -> None:
    found = language_of(text)
    assert (LANGUAGES[found] if found >= 0 else None) == language


@pytest.mark.parametrize(("file", "severity"), [("fr.csv", "warning"), ("de.csv", "info"), ("part-3.csv", "warning")])
def test_a_file_in_a_language_of_its_own_is_meant_if_it_is_named_after_it(
    tmp_path: Path, file: str, severity: str
) -> None:
    """Our promise: of a data set with a file for each language, nothing is to be translated or dropped."""
    data = reviews(40)
    for name, rows in ((file, range(40)), ("en.csv", range(40, 300))):
        lines = [f"{data.columns['text'][i]} {i * 7919 % 1009} {i},{data.columns['label'][i]}" for i in rows]
        (tmp_path / name).write_text("\n".join(["text,label", *lines]), encoding="utf-8")
    found = [f.severity for f in scan(tmp_path, tmp_path).findings if "common words" in f.message]
    assert found == [severity]


def test_the_split_that_has_them_all_is_named() -> None:
    """Seen: only the test had texts in French, and the finding did not say so."""
    data = reviews(20)
    splits = ["test"] * 60 + ["train"] * 240
    found = judged_alone("languages", Data(data.columns, "label", splits=splits, kinds=data.kinds))["suspicious-text"]
    assert found.message.endswith("all in test")
