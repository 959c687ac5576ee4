"""The texts of a value, and what is strange about one: blank, markup, invisible characters, or encoded twice."""

from __future__ import annotations

import ast
import re
import unicodedata
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

from dataloader_expert.sources.base import Block
from dataloader_expert.sources.turns import ROLE_KEYS

HIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069\ufeff\ufffd]")
"""Control characters, bidirectional and byte-order marks, and replacements for undecodable bytes. Zero-width spaces and
joiners are not included, because they occur in sound texts."""
_CONTINUED = "\u0080-\u00bf\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u02c6\u02dc\u2013\u2014\u2018-\u201a\u201c-\u201e\u2020-\u2022\u2026\u2030\u2039\u203a\u20ac\u2122"
"""What Windows-1252, or Latin-1, makes of the second and later bytes of a letter in UTF-8."""
_CLOSING = "\u00b7\u00bb\u2013\u2014\u2018\u2019\u201c\u201d\u2026\u203a"
"""Those of them that follow a letter in sound texts."""
TWICE = re.compile(
    f"\u00c3(?:[\u0080-\u00bf]|(?![{_CLOSING}])[{_CONTINUED}])"  # Latin letters with accents
    "|\u00c2[\u00a0-\u00bf]"  # signs such as the degree
    f"|\u00e2(?:\u20ac[{_CONTINUED}]|(?![{_CLOSING}]{{2}})[{_CONTINUED}]{{2}})"  # quotes, dashes, the euro, arrows
    f"|\u00e3[\u0081\u20ac\u201a\u0192][{_CONTINUED}]"  # kana
    f"|(?:[\u00d0\u00d1][{_CONTINUED}]){{2}}"  # Cyrillic
    f"|\u00f0\u0178[{_CONTINUED}]"  # pictures
)
"""UTF-8 that was read as Windows-1252 or Latin-1 and written as UTF-8 again: two or more letters in place of one."""
APART = re.compile("[A-Za-z][\u0300-\u0304\u0306-\u030c\u0323\u0327\u0328]")
"""A Latin letter and a mark on it, for most of which Unicode has one character."""
_TAGS = "html|body|head|div|span|p|br|script|table|tr|td|th|ul|ol|li|h[1-6]"
_PAIRED = "[biu]|strong|em|font|center|blockquote|title|style"
MARKUP = re.compile(
    rf"<(?:/?(?:{_TAGS})(?:(?=\s[^<>=]*=)[^<>]*|\s*/?)|!doctype\b[^<>]*|!--|(?:a|img)\s(?=[^<>]{{0,500}}?\b(?:href|src)\s*=)[^<>]*|/a"
    rf"|(?P<tag>{_PAIRED})(?:\s[^<>]*)?>[^<>]*</(?P=tag))>",
    re.I,
)
"""A tag of HTML; one that may stand for a variable or a word, such as ``<font>`` in the usage of a command, with the tag that closes it."""
PAGE = re.compile(r"\s*(?:<\?xml[^<>]*>\s*)?<(?:!doctype\s+html|html)\b", re.I)
ESCAPED = re.compile(r"&(lt|gt);")
ENTITY = re.compile(
    r"&(?:amp|quot|apos|nbsp|[lg]t|[rl][sd]quo|[mn]dash|hellip|[A-Za-z](?:uml|acute|grave|circ|cedil)|szlig|#\d{2,5}|#x[0-9A-Fa-f]{2,4});"
)
"""What HTML writes for a sign."""
ABOUT_HTML = re.compile(r"[<`\\]|\bhtml\b|\bxml\b|https?://|\bentit(?:y|ies)\b", re.I)
"""Where entities may be what a text is about, or belong to a program, a page or an address."""
TEMPLATE = re.compile(
    r"<\|(?:im_start|im_end|im_sep|endoftext|eot_id|eom_id|begin_of_text|end_of_text|(?:start|end)_header_id|user|assistant|system|end)\|>"
    r"|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>|</s>\s*\Z|(?<!\S)### (?:Instruction|Response|Human|Assistant):"
)
"""What the templates of chat models put between turns: tokens, and the headings of Alpaca and Vicuna."""
DISCLAIMER = re.compile(r"\bas an? (?:AI(?: language model| model| assistant)?|(?:large )?language model),? I\b", re.I)
"""What a language model says of itself; who tells it what it is says "you"."""
MAILED = re.compile(
    r"=[C-F][0-9A-F](?:=[89AB][0-9A-F])+"  # letters with accents and typographic quotes, in UTF-8
    r"|[^\w\s]=20\r?\n"  # a blank before a line break
    r"|(?s:\w=\r?\n\w.*?\w=\r?\n\w)"  # lines that were broken within words, twice
)
"""What the quoted-printable encoding of mails makes of signs beyond ASCII and of long lines."""
PIECES = re.compile(r"\w@@ \w|(?:^|\s)\u2581\w+ \u2581?\w")
"""Pieces of words, as subword-nmt and SentencePiece write them."""
PLACEHOLDER = re.compile(
    r"\W*(?:(?:image|photo|caption|description|transcript|transcription|summary|abstract|review|text|content) (?:not |un|is not )available"
    r"|no (?:image|photo|caption|description|transcript|transcription|summary|abstract|review|text|content) (?:available|provided|found|yet)"
    r"|lorem ipsum\b.*|[\[<(](?:removed|deleted|placeholder|inaudible|unintelligible)[\])>])\W*",
    re.I | re.S,
)
"""A whole text that stands for one that is missing."""
QUOTED = re.compile(r"(\"\"\"|''').*?\1|(?<![\w=])\"[^\"\n]*\"|(?<![\w=])'[^'\n]*'", re.S)
"""A string of a program: what it holds is not markup of the text."""
ABSENT = {
    "nan",
    "null",
    "n/a",
    "#n/a",
    "<na>",
    "(null)",
    "nil",
    "?",
    "-",
    "--",
    ".",
    "missing",
    "not available",
    "no data",
}
"""What stands for a missing value, in lower case; words such as ``none`` and ``unknown`` may be answers."""
PRINTED = {"nan", "NaN", "NAN", "<NA>", "NaT", "(null)", "#N/A"}
"""What programs print for a missing value, and nobody says."""
PRINTED_OR_SAID = {"None", "null", "NULL", "undefined"}
"""What they print, and a short answer may be."""
BETTER = {"chosen", "positive", "positives", "pos", "accepted", "preferred", "better", "winner", "win", "good"}
WORSE = {"rejected", "negative", "negatives", "neg", "dispreferred", "worse", "loser", "lose", "bad", "distractors"}
"""Words in the names of fields of which one is meant to be the better."""
LONGEST_PLACEHOLDER = 200
FEW = 20
"""Of many values at most one in this many is odd by chance or mistake; if there are more, the data set consists of such."""
BLOCK = re.compile(
    r"^(?P<before>[ \t]*)(?:def|class|if|for|while|else|elif|try|except|with|async def)\b[^\n]*:[ \t]*\n+(?P<after>[ \t]*)\S",
    re.M,
)
"""The head of a block in Python, and the line after it."""
KINDS = {
    "flat": "are code that has lost its indentation",
    "blank": "are blank",
    "hidden": "contain invisible characters: control or direction marks, or bytes that are not text",
    "page": "are whole web pages or HTML documents",
    "markup": "hold HTML",
    "placeholder": "are placeholders for a missing text, such as [removed]",
    "printed": "are a missing value printed as text, such as nan",
    "said": "are None, null or undefined, a missing value printed as text (no other text is as short)",
    "template": "contain chat-template marks, such as <|im_end|>, [INST] or ### Instruction:",
    "disclaimer": "contain language-model boilerplate, such as: as an AI language model, I ...",
    "decomposed": "write letters and their accents as two characters (Unicode's NFD)",
    "entities": "hold HTML entities, such as &quot; or &amp;",
    "mailed": "are in the quoted-printable encoding of mails, such as caf=C3=A9 for café",
    "pieces": "are split into the pieces of a tokenizer, such as to@@ ken",
    "encoded twice": "are UTF-8 that was decoded with another encoding, such as cafÃ© for café",
}
FIXES = {
    "page": "extract their text, as in the others; if they are error pages of a server, download them again",
    "entities": "decode them, as in the other texts: html.unescape(text)",
    "mailed": "decode them: quopri.decodestring(text.encode()).decode()",
    "pieces": "join the pieces again, as in the other texts: a tokenizer would split them once more",
    "decomposed": "write all in one form: unicodedata.normalize('NFC', text); otherwise equal words differ",
    "flat": "fetch them again without stripping their lines",
    "template": "cut the texts off there or drop them: the template writes these marks itself, and a model learns to generate them",
    "placeholder": "drop these samples: a model learns to generate it",
    "printed": "drop these samples, or keep the value as missing: str(None) and str(float('nan')) make a text of it",
    "said": "drop these samples, or keep the value as missing: str(None) makes a text of it",
    "disclaimer": "drop them, unless your model is meant to say so: another model wrote them, and yours learns to refuse as it did",
    "encoded twice": "encode them as Windows-1252 and decode the bytes as UTF-8, or read their source again as UTF-8",
}
STRIP = "strip it, as in the other texts, or drop these"
"""What to do with texts of the kinds that ``FIXES`` lacks."""
ONCE = {"placeholder", "disclaimer", "printed", "said", "mailed", "pieces", "entities"}
"""Kinds that a single text may be because it speaks of them."""


_SIGNS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f<&=@#\[]")
"""Of a text in ASCII without any of these, little can be strange."""


def kinds_of(text: str) -> Iterable[str]:
    if not text.isascii() or _SIGNS.search(text) is not None:
        return _kinds_by_signs(text)
    bare = text.strip()
    found = ["blank"] if not bare else ["printed"] if bare in PRINTED else ["said"] if bare in PRINTED_OR_SAID else []
    if len(text) <= LONGEST_PLACEHOLDER and PLACEHOLDER.fullmatch(text):
        found.append("placeholder")
    if ("AI" in text or "language model" in text) and DISCLAIMER.search(text):
        found.append("disclaimer")
    return found


def _kinds_by_signs(text: str) -> Iterable[str]:
    if not (bare := text.strip()):
        yield "blank"
    if bare in PRINTED:
        yield "printed"
    if bare in PRINTED_OR_SAID:
        yield "said"
    if HIDDEN.search(text):
        yield "hidden"
    if not text.isascii() and TWICE.search(text):
        yield "encoded twice"
    if not text.isascii() and any(len(unicodedata.normalize("NFC", pair)) == 1 for pair in APART.findall(text)):
        yield "decomposed"
    if ("<" in text or "&lt;" in text) and _has_markup(text):
        yield "page" if PAGE.match(text) else "markup"
    if "&" in text and ENTITY.search(text) and not ABOUT_HTML.search(text):
        yield "entities"
    if "=" in text and MAILED.search(text):
        yield "mailed"
    if ("@@" in text or "\u2581" in text) and PIECES.search(text):
        yield "pieces"
    if len(text) <= LONGEST_PLACEHOLDER and PLACEHOLDER.fullmatch(text):
        yield "placeholder"
    if has_template(text):
        yield "template"
    if ("AI" in text or "language model" in text) and DISCLAIMER.search(text):
        yield "disclaimer"


def said_by_others(value: str, block: Block, i: int, names: Iterable[str]) -> bool:
    """Whether another text of the sample contains the value as a word among others, as the context of an answer does."""
    bare = value.strip()
    word = re.compile(rf"(?<!\w){re.escape(bare)}(?!\w)")
    texts = (block.columns[name].values[i] for name in names if name in block.columns)
    return any(isinstance(text, str) and text.strip() != bare and word.search(text) for text in texts)


def has_template(text: str) -> bool:
    """Whether a text holds what the template of a chat model puts between turns."""
    return any(sign in text for sign in "<[#") and TEMPLATE.search(text) is not None


def indented(text: str) -> bool | None:
    """Whether blocks of a program are indented, of which stripping the lines leaves none; None for a text without any."""
    heads = [m for m in BLOCK.finditer(text) if _closed(m[0].partition("\n")[0])]
    if any(len(m["after"].expandtabs()) > len(m["before"].expandtabs()) for m in heads):
        return True
    return False if any(_parses(m[0].partition("\n")[0].strip()) for m in heads) else None


def _parses(head: str) -> bool:
    """Whether this is the head of a block, and no sentence that begins like one: "for all of these:"."""
    word = head.partition(" ")[0].rstrip(":")
    before = {"elif": "if x: pass\n", "else": "if x: pass\n", "except": "try: pass\n"}.get(word, "")
    try:
        with warnings.catch_warnings(action="ignore"):  # of escapes in texts that are not ours
            ast.parse(f"{before}{head} pass" + "\nfinally: pass" * (word == "try"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _closed(line: str) -> bool:
    """Whether a line closes the brackets that it opens, and no others: else it goes on with the line before."""
    return sum(map(line.count, "([{")) == sum(map(line.count, ")]}"))


PARAMETER = re.compile(r"::\s*<[A-Z]>|<[A-Z]>(?=[(:])")
"""A type in a program, as in ``size_of::<P>()``."""
ALONE = (["br"], ["p"], ["script"], ["img"])
"""Tags of which one tells HTML."""


def _has_markup(text: str) -> bool:
    """Whether it holds HTML: a break, a pair of tags, or two; a single one may be what the text is about."""
    plain = ESCAPED.sub(lambda found: "<>"[found[1] == "gt"], text)
    plain = PARAMETER.sub("", QUOTED.sub("", plain))
    tags = [found[0].lower() for found in MARKUP.finditer(plain)]
    return len(tags) > 1 or any("</" in tag[1:] or tag.strip("</ >").split()[:1] in ALONE for tag in tags)


DEEPEST = 16
"""Levels of a nested object whose texts are read."""


def said(value: Any, depth: int = 0) -> Iterator[str]:
    """A text, or the texts in lists and objects, such as those of a conversation, in their order."""
    if isinstance(value, str):
        yield value
    elif depth < DEEPEST and isinstance(value, list | tuple | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from said(inner, depth + 1)


def last_said(turns: Any) -> str:
    """What the last turn of a conversation says, whichever of its keys comes first; nothing of another value."""
    turn = turns[-1] if isinstance(turns, list | tuple) and turns else None
    if isinstance(turn, dict):  # who speaks is not said: Parquet's writers may sort the keys
        turn = {key: value for key, value in turn.items() if key not in ROLE_KEYS}
    *_, text = ("", *said(turn))
    return text.rstrip()


def unsaid(value: Any, depth: int = 0) -> Iterator[bytes]:
    """What else lies in lists and objects: numbers, bytes and arrays."""
    if depth < DEEPEST and isinstance(value, list | tuple | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from unsaid(inner, depth + 1)
    elif isinstance(value, bytes):
        yield value
    elif hasattr(value, "tobytes"):
        yield value.tobytes()
    elif value is not None and not isinstance(value, str):
        yield repr(value).encode("utf-8", "replace")
