"""Texts that were cut at one length: far more texts have exactly that many characters, or words, than have about as many, and unlike
the others these end within a sentence. Where no text is longer, it may be most of them, and others may end so more often.

Where people write up to a limit, texts of nearly that length are frequent too. Texts made from one template may well be of one
length, but begin and end alike. Where documents were cut into pieces, some texts begin within a sentence.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from dataloader_expert.checks.base import CUT_AT, Context
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.explained import explained
from dataloader_expert.checks.common.fingerprint import digests_of
from dataloader_expert.checks.common.rows_kept import Named, in_order, places
from dataloader_expert.checks.common.wording import last_said
from dataloader_expert.conclusions import Finding, finding, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.sources.base import Block, Column

ROWS, FIELDS, GROUPS, VALUES = 1 << 15, 4, 8, 200
"""Rows that are drawn, fields of texts and of categories that are looked at, and values of a category."""
LEAST, FEWEST = 200, 10
"""The fewest texts of a field, and the fewest that are of one length."""
SHORTEST = {"characters": 30, "words": 30}
"""Shorter texts may well be of one length; a template with a word here and there has one number of words."""
MOST_PART, CAP, ALL, TIMES = 0.5, 0.1, 0.95, 3.0
"""The largest share of the texts that has one length; from which share of the largest length on it is a cap, however the others end, and the
largest share; and how many times as many as near it there are at least."""
NEAR, WIDTH = 20, 3
"""Lengths are compared with those that differ by one part in so many, or by so many characters at least."""
CHANCE = math.log(1e-9)
OPEN, OTHERS_OPEN = 0.5, 0.2
"""The least share of the texts of one length that end within a sentence, and the largest share of the others."""
VARIED, ENOUGH, BEGUN = 4, 20, 4
"""Of so many cut texts one at least, or so many in all, begin and end in another way; and one part in so many of texts that begin
within a sentence makes them pieces."""
SHOWN = 12
"""Characters at either end of a text that tell how it begins and ends."""
_SHAPES = str.maketrans("bcdefghijklmnopqrstuvwxyz012345678", 25 * "a" + 9 * "9")


class FixedCuts(DrawnRows):
    ids = ("suspicious-text",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        split = None if context.roles.split is None else context.roles.split.field
        texts = [f.name for f in context.fields if f.kind == "text" and not f.shape]
        self.texts = [*texts, *sorted(context.conversations)][:FIELDS]
        """Of conversations, the last turn is looked at."""
        groups = [f.name for f in context.fields if f.kind == "category" and not f.shape and f.name != split]
        self.groups = {name: Named(VALUES) for name in groups[:GROUPS]}
        self.drawn = Drawn(ROWS)
        self.beside = [*self.groups.values()]

    def applies(self) -> bool:
        return bool(self.texts)

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for name in self.texts:
            kept |= {f"{what} {name}": values for what, values in _looked(block.columns.get(name), rows).items()}
        for name, named in self.groups.items():
            kept[f"group {name}"] = named.of(block.columns.get(name), rows)
        return kept

    def facts(self) -> Iterable[Fact]:
        if not self.drawn.parts:
            return
        kept = in_order(self.drawn.all()[1])
        for name in self.texts:
            for measure, shortest in SHORTEST.items():
                there = kept[f"{measure} {name}"] >= 0
                length = _cut_at({key: values[there] for key, values in kept.items()}, name, measure, shortest)
                if length is None:
                    continue
                cut = (kept[f"{measure} {name}"] == length) & kept[f"open {name}"]
                others = there & (kept[f"{measure} {name}"] != length)
                value = {
                    "length": length,
                    "longest": bool(length == kept[f"{measure} {name}"].max()),
                    "measure": measure,
                    "count": int(cut.sum()),
                    "same": int((there & ~others).sum()),
                    "closed": round(float((~kept[f"open {name}"][others]).mean()), 4),
                    "because": explained(kept, self.groups, cut, others),
                    "where": places(kept, cut, name),
                }
                yield Fact(CUT_AT, value, self.evidence("sampled", int(there.sum())), {"field": name})
                break  # characters say it better than words

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(CUT_AT):
            v, name = fact.value, escaped(str(fact.at["field"]))
            n, because = v["count"], v["because"]
            text = f"{name}: {n:,} of the {v['same']:,} texts of exactly {v['length']:,} {v['measure']} {verb(n, 'end')} in mid-sentence; "
            text += f"of the others {1 - v['closed']:.1%} do"
            text += f", and no {name} is longer" if v["longest"] else ""
            if because is not None:
                text += f"; nearly all of them have {escaped(because[0])} {escaped(because[1])}"
            fix = "they were cut off at this length: fetch them in full from their source, or drop them"
            yield finding("suspicious-text", "warning", text, fact, fix, v["where"], n)


def _looked(column: Column | None, rows: Any) -> dict[str, Any]:
    """Of each text: its characters and words, -1 for none; whether it ends, and begins, within a sentence; how it begins and ends."""
    import numpy as np

    values = [] if column is None else column.values
    texts = [values[i] if column is not None else None for i in rows.tolist()]
    plain = [text.rstrip() if isinstance(text, str) else last_said(text) for text in texts]
    return {
        "characters": np.array([len(text) or -1 for text in plain], np.int64),
        "words": np.array([len(text.split()) or -1 for text in plain], np.int64),
        "open": np.array([text[-1:].isalnum() or text.endswith((",", "-", "...", "\u2026")) for text in plain], bool),
        "begun": np.array([bool(text) and not _begins(text) for text in plain], bool),
        "start": digests_of([text[:SHOWN] for text in plain]),
        "end": digests_of([text[-SHOWN:].lower().translate(_SHAPES) for text in plain]),
    }


def _begins(text: str) -> bool:
    """Whether a text begins as a sentence does: with a capital, a digit or a mark that opens something."""
    first = text.lstrip()[0]
    return first.isupper() or first.isdigit() or first in "\"'([{<#*-\u201c\u2018\u00ab\u00bf\u00a1\u2022@$"


def _cut_at(kept: Mapping[str, Any], name: str, measure: str, shortest: int) -> int | None:
    """The length at which texts were cut; of several the one of the most texts."""
    import numpy as np

    sizes, opened = kept[f"{measure} {name}"], kept[f"open {name}"]
    if len(sizes) < LEAST:
        return None
    ordered = np.sort(sizes)
    lengths, counts = np.unique(sizes, return_counts=True)
    for k in np.argsort(-counts, kind="stable").tolist():
        length, n = int(lengths[k]), int(counts[k])
        if n < FEWEST:
            return None
        longest = length == lengths[-1]
        if length < shortest or n > (ALL if longest else MOST_PART) * len(sizes) or not _stands_out(ordered, length, n):
            continue
        same = sizes == length
        cut = same & opened
        most = 1.0 if longest and n > CAP * len(sizes) else OTHERS_OPEN
        if _unlike(int(cut.sum()), n, float(opened[~same].mean()), len(sizes), most) and _varied(
            kept, name, cut, BEGUN if most < 1 else BEGUN // 2
        ):
            return length
    return None


def _stands_out(ordered: Any, length: int, n: int) -> bool:
    """Whether so many texts of one length are more than those that are somewhat shorter, or longer, explain (Chernoff's bound)."""
    import numpy as np

    width = max(WIDTH, length // NEAR)
    at = np.searchsorted(ordered, [length - width, length, length + 1, length + width + 1])
    near = (max(at[1] - at[0], at[3] - at[2]) + 1) / width
    return bool(n >= TIMES * near and n - near - n * math.log(n / near) <= CHANCE)


def _unlike(opened: int, n: int, others: float, of: int, most: float) -> bool:
    """Whether so many of ``n`` texts end within a sentence, and too many for chance, where a share of the others does, at most ``most``."""
    share, usual = opened / n, max(others, 1 / of)
    if share < OPEN or others > most or share <= usual:
        return False
    rest = (1 - share) * math.log((1 - share) / (1 - usual)) if share < 1 else 0.0
    return -n * (share * math.log(share / usual) + rest) <= CHANCE


def _varied(kept: Mapping[str, Any], name: str, cut: Any, parts: int) -> bool:
    """Whether the cut texts begin and end in many ways, and few texts begin within a sentence."""
    import numpy as np

    n = int(cut.sum())
    ways = min(len(np.unique(kept[f"{at} {name}"][cut])) for at in ("start", "end"))
    return ways >= min(ENOUGH, max(WIDTH, n / VARIED)) and int(kept[f"begun {name}"].sum()) * parts < n


CHECK = FixedCuts
