"""Texts in another language than nearly all others of their field: rows that were never translated, reviews from another country.

Told by the commonest words of a language, such as articles and prepositions. A text of few such words, or of those of two languages, counts as in
none. Where a field names the language, or another field is in it, several are meant; so they are where a language has a file that is named after
it, or a class. Names and titles are in any.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.rows_kept import Named, places, split_of, texts_of
from dataloader_expert.checks.common.split_said import in_split
from dataloader_expert.conclusions import Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.roles import words

FOREIGN = Quantity("foreign_texts", "samples", "texts in another language than nearly all others, with places")
COMMON = {
    "English": "the and of to is in that for with was are this it on you be not have from by an or as at we they my your i",
    "German": "und der die das ist nicht ein eine mit den von zu auf für wird werden dem des sich auch im als bei zum zur nach kann sind ich",
    "French": "le la les des et est une un pour dans pas que du sur avec au ce il vous nous je qui par sont mais",
    "Spanish": "el los las una un para con por del que es está no más como su lo se y muy pero mi al",
    "Italian": "il di che per una un con non è sono della nel gli del alla più ma si mi molto anche",
    "Portuguese": "o os as uma um para com não do da em é por mais dos que muito mas ao no na",
    "Dutch": "de het een van en niet voor met zijn op te dat is ik maar ook wordt bij naar geen",
    "Polish": "i w na nie się z do jest że to jak po dla ale od przez bardzo",
    "Swedish": "och att det som är för inte på en av den med till har jag men om",
    "Danish or Norwegian": "og det som er på af av med til har jeg men om ikke den en et blev ble hva",
    "Czech or Slovak": "se sa na že je to v do jsem som ale jak ako pro pre by při pri jako ve",
    "Croatian or Serbian": "je u da se na za su od i ne kao ali što bi nije iz to do po",
    "Afrikaans": "die en van nie het is ek ook vir om sy ons",
    "Catalan": "el els les un una i del amb que és no més com per al però",
    "Galician": "o os as e do da non que unha un para con por máis no na é moi pero",
    "Romanian": "și să nu este pe cu care din pentru mai un o la au de",
}
"""Words by language, more frequent than nearly all others: also those of languages that are rare as data, or texts in them would seem to be in
the next of kin."""
SIGNS: dict[str, frozenset[str]] = {}
for _language, _words in COMMON.items():
    for _word in _words.split():
        SIGNS[_word] = SIGNS.get(_word, frozenset()) | {_language}
LANGUAGES = tuple(COMMON)
WORD = re.compile(r"[^\W\d_]+")
KEPT, FIELDS, READ = 5_000, 3, 400
"""The most texts and fields of texts that are looked at, and characters of a text."""
SURE, DECIDED, MAIN = 2, 100, 0.8
"""By how many different words a language must lead; the fewest texts of which one is known, and the least share of the main one."""
FEWEST, MOST = 5, 0.2
"""The fewest texts of another language, and their largest share."""
CODES = {
    "English": {"en", "eng", "english"},
    "German": {"de", "deu", "ger", "german", "deutsch"},
    "French": {"fr", "fra", "fre", "french"},
    "Spanish": {"es", "spa", "spanish"},
    "Italian": {"it", "ita", "italian"},
    "Portuguese": {"pt", "br", "por", "portuguese"},
    "Dutch": {"nl", "nld", "dut", "dutch"},
    "Polish": {"pl", "pol", "polish"},
    "Swedish": {"sv", "se", "swe", "swedish"},
    "Danish or Norwegian": {"da", "dk", "dan", "danish", "no", "nb", "nn", "nor", "norwegian"},
    "Czech or Slovak": {"cs", "cz", "ces", "czech", "sk", "slk", "slovak"},
    "Croatian or Serbian": {"hr", "hrv", "croatian", "sr", "srp", "serbian"},
    "Afrikaans": {"af", "afr", "afrikaans"},
    "Catalan": {"ca", "cat", "catalan"},
    "Galician": {"gl", "glg", "galician"},
    "Romanian": {"ro", "ron", "romanian"},
}
"""Words in the name of a file by which it is said to be in a language: codes of the language or of its country."""
MOST_CLASSES = 100
"""Classes of which one may be a language."""
NAMED = {"lang", "language", "languages", "locale", "country"}
"""Words in the names of fields that tell it."""


class Languages(DrawnRows):
    ids = ("suspicious-text",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        texts = [f.name for f in context.fields if f.kind == "text" and not f.shape and f.name != context.label]
        told = any({*words(f.name)} & NAMED for f in context.fields)
        self.texts = [] if told or context.short_texts else texts[:FIELDS]
        self.drawn = Drawn(KEPT)
        self.classes, self.splits = Named(MOST_CLASSES), Named(MOST_CLASSES)
        self.beside = (self.classes, self.splits)

    def applies(self) -> bool:
        return bool(self.texts)

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        import numpy as np

        label = self.context.label
        made = {"class": self.classes.of(block.columns.get(label), rows)} if label is not None else {}
        made["split"] = self.splits.coded(split_of(self.context, block, rows))
        return made | {
            f"language {name}": np.array(
                [language_of(text) for text in texts_of(block.columns.get(name), rows, READ)], np.int8
            )
            for name in self.texts
        }

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts:
            return
        _, rows = self.drawn.all()
        counts = {
            name: np.bincount(rows[f"language {name}"] + 1, minlength=len(LANGUAGES) + 1)[1:] for name in self.texts
        }
        mains = {int(of.argmax()) for of in counts.values() if of.any()}
        for name, of in counts.items():
            decided, main = int(of.sum()), int(of.argmax())
            if decided < DECIDED or of[main] < MAIN * decided:
                continue
            for k in np.flatnonzero((of >= FEWEST) & (of <= MOST * decided)).tolist():
                if k in mains:
                    continue
                value = {"language": LANGUAGES[k], "main": LANGUAGES[main], "count": int(of[k]), "of": decided}
                value["where"] = places(rows, rows[f"language {name}"] == k, name)
                value["split"] = self._in_split(rows, rows[f"language {name}"], k)
                value["meant"] = self._is_meant(rows, rows[f"language {name}"], k)
                yield Fact(FOREIGN, value, self.evidence("sampled", len(rows["sample"])), {"field": name, "rank": k})

    def _in_split(self, rows: dict[str, Any], languages: Any, k: int) -> str:
        """Words for the split that has all texts of a language, if one has."""
        in_any = [
            {text or None: int(mask[rows["split"] == code].sum()) for code, text in self.splits.texts.items()}
            for mask in (languages == k, languages >= 0)
        ]
        return in_split(*in_any)

    def _is_meant(self, rows: dict[str, Any], languages: Any, k: int) -> bool:
        """Whether nearly all texts of a language, and hardly others, are in one class, or in a file that is named after it."""
        import numpy as np

        files, file = np.unique(rows["file"].astype(str), return_inverse=True)
        named = [i for i, of in enumerate(files.tolist()) if {*words(of)} & CODES[LANGUAGES[k]]]
        alone = [np.isin(file, named)]
        if "class" in rows and not self.classes.many:
            of, counts = np.unique(rows["class"][languages == k], return_counts=True)
            alone.append(rows["class"] == of[counts.argmax()])
        own, known = languages == k, languages >= 0
        return any((part & own).sum() >= MAIN * max(own.sum(), (part & known).sum()) for part in alone)

    def judge(self, facts: Facts) -> Iterable[Finding]:
        alone = len(self.texts) == 1 and self.context.label is not None
        for fact in facts.all(FOREIGN):
            v, name = fact.value, escaped(str(fact.at["field"]))
            text = f"{name}: {v['count']:,} of {number(v['of'], 'text')} {verb(v['count'], 'seem')} to be in {v['language']}, while nearly all others are in {v['main']} "
            text += f"(judged by common words){v['split']}"
            yield finding(
                "suspicious-text",
                "warning" if alone and not v["meant"] else "info",  # a request to translate has two
                text,
                fact,
                f"check a few; if they are not intended, translate or drop them: a model for {v['main']} texts learns little from them",
                v["where"],
                v["count"],
            )


def language_of(text: str) -> int:
    """The language of a text by its number, -1 if that is not clear."""
    found: dict[str, int] = {}
    for word in {*WORD.findall(text.lower())}:
        for language in SIGNS.get(word, ()):
            found[language] = found.get(language, 0) + 1
    if not found:
        return -1
    second, best = sorted([0, *found.values()])[-2:]
    return LANGUAGES.index(max(found, key=lambda k: found[k])) if best >= second + SURE else -1


CHECK = Languages
