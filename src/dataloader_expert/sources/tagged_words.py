"""Tables with a row for each word of a sentence, as the NER corpora that are shared as CSV files: ``Sentence #, Word, POS, Tag``."""

from __future__ import annotations

from collections.abc import Mapping

from dataloader_expert.sources.roles import words

TAGS = {"tags", "tag", "ner", "pos", "upos", "xpos", "chunk", "bio", "iob"}
"""Words in the names of what is said of each token."""
WORDS = {"word", "token", "form"}
"""Last words in the names of what a row is."""
SENTENCES = {"sentence", "sent", "sentences"}
"""Words in the names of what a word is from."""


def word_of(scalars: Mapping[str, str], label: str | None) -> str | None:
    """The column of words, in a table of which each row is one, with its tag in the label; None of any other table.

    Args:
        scalars: the dtype of each field of single values.
    """
    said = {name: words(name) for name in scalars}
    if label is None or not {*said.get(label, ())} & (TAGS | {"label", "entity"}):
        return None
    tagged = any({*of} & (TAGS | SENTENCES) for name, of in said.items() if name != label)
    found = [name for name, of in said.items() if of[-1:] and of[-1] in WORDS and scalars[name] == "str"]
    return found[0] if tagged and len(found) == 1 else None
