"""Fields that give the label away on their own, as does the size or encoding of images or recordings from different sources, the first
or last word of a text, the letters with which an identifier begins, or the class's name in a text.

Method: rows are sampled by a hash of their index. On half of them a rule with a single field is learnt (the commonest class at
the nearest value; for a continuous label its rank, interpolated between the nearest values), the other half tests it. The score
is the share of what a constant guess does not get right anyway: 0 for a useless field, 1 for one that determines the label.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from dataloader_expert.checks.base import GIVEAWAY, Check, Context
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.fingerprint import digest64, digests_of, mix
from dataloader_expert.checks.common.guessed_labels import follows, is_outcome
from dataloader_expert.checks.common.origins import ORIGINS
from dataloader_expert.checks.common.rows_kept import NAME, numbered, texts_of
from dataloader_expert.checks.giveaways.encodings import encoding_of
from dataloader_expert.checks.giveaways.rules import (
    CHANCE,
    CLASSES,
    FAR_OFTENER,
    LEAST,
    by_class,
    of_classes,
    of_ranks,
    one_sided,
    renames,
    together_only,
)
from dataloader_expert.conclusions import Finding, Severity, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block, Column
from dataloader_expert.sources.roles import words

ONE_SIDED = Quantity(
    "one_sided", "", "the class of nearly all samples in which a field is present, other than zero, or missing"
)
ABSENT = Quantity(
    "missing_by_class", "samples", "how often a field is missing in samples of one class, and how often in all others"
)
TOGETHER = Quantity(
    "come_together", "", "a value of a field and a class that always come together, and how many samples have both"
)
APART = Quantity(
    "class_apart",
    "",
    "a class that the size or the encoding of files alone tells from all others, and how well, as label_known_by",
)
WRITTEN = Quantity("class_written", "", "the share of samples with a text that has the name of their own class")
KEPT, LEAST_KEPT, CELLS = 20_000, 1_000, 1 << 22
"""Rows to keep, and values of all fields together."""
SIZED = ("image", "audio", "array")
FIRST, LAST, LETTERS, NAMED = "first word", "last word", "letters at the beginning", "name of the class"
AROUND = "blanks around"
KEY, ORDER, SIZE, ENCODED = "identifier", "order of the rows", "size", "encoding"
REMOVE = "remove it from {} unless it is known before the label"
TOLD = {
    "": ("{}", "drop {} unless it is known before the label: a model that sees it has no reason to use anything else"),
    SIZE: (
        "the size of {}",
        "resize all samples to one size, and find out what else differs between the classes' sources",
    ),
    ENCODED: (
        "the JPEG quality or the format of the files of {}",
        "re-encode all images the same way, and find out what else differs between the classes' sources",
    ),
    FIRST: ("the first word of {}", REMOVE),
    LAST: ("the last word of {}", REMOVE),
    AROUND: (
        "white space before or after {}",
        "strip {}, and find out what else differs between the classes' sources: tokenizers see trailing spaces",
    ),
    LETTERS: ("what comes before the first digit in {}", "make sure that the model does not see {}"),
    KEY: (
        "the identifier {}",
        "make sure that the model does not see {}, nor anything else that was recorded class by class",
    ),
}
"""What of a field gives the label away, as a sentence says it, and what to do."""
_WORD, _LETTERS, _NUMBER = (
    re.compile(r"\w+"),
    re.compile(r"[^\d\s/\\]*(?![^\d\s]*[/\\])"),
    re.compile(r"-?[0-9]+(\.0)?"),
)
READ, MOST_READ, MOST_NAMES = 64, 5_000, 1_000
"""Words of a text, texts, and names of classes that are looked at."""
FEW_WORDS = 3
"""A text of no more words is said by its first or last one, as "thanks" is: that word gives nothing away."""
SHORT_NAME = 3
"""Names of classes with fewer letters occur in any text."""
LABEL = "label"
KNOWN = 0.98
SECOND_LABELS = {"label", "labels", "class", "classes", "cls", "category", "target", "targets", "species", "name"}


class Giveaway(DrawnRows):
    ids = ("label-leaked-by-field",)
    of_features = True

    def __init__(self, context: Context) -> None:
        if context.label is None and context.candidate is not None:
            context = replace(context, label=context.candidate, placed=True)
        super().__init__(context)
        roles = context.roles
        aside = {
            context.label,
            *(r.field for r in (roles.split, roles.group, roles.time, *roles.keys) if r is not None),
        }
        self.names = [
            f.name
            for f in context.fields
            if not f.shape and f.name not in aside and f.kind in ("number", "category", "boolean")
        ]
        self.sized = [f.name for f in context.fields if f.kind in SIZED and f.name != context.label]
        """Fields whose values may differ in size."""
        images = [f.name for f in context.fields if f.kind == "image" and f.name != context.label]
        self.encoded = images if len(images) == 1 else []
        """The field of the images that files hold."""
        self.texts = [f.name for f in context.fields if f.kind == "text" and not f.shape and f.name not in aside]
        texts = {f.name for f in context.fields if f.kind in ("text", "category") and not f.shape}
        self.keyed = [r.field for r in roles.keys if r.field in texts and r.field != context.label]
        numbers = {f.name for f in context.fields if f.kind == "number" and not f.shape}
        self.numbered = [r.field for r in roles.keys if r.field in numbers and r.field != context.label]
        """Identifiers that are numbers."""
        self.marked = [
            f.name
            for f in context.fields
            if not f.shape
            and f.name not in aside - {r.field for r in roles.keys}  # of some rows only, as the number of an inquiry
            and f.kind in ("number", "category", "boolean", "text", "time")
        ]
        """Fields that a sample may be without."""
        self.called: dict[Any, str] = {}
        """Labels as texts, by what is kept of them."""
        self.values: dict[int, str] = {}
        """Texts of other fields, by their digests."""
        width = len(self.names) + len(self.sized) + (3 + READ) * len(self.texts) + len(self.keyed) + len(self.numbered)
        self.drawn = Drawn(max(LEAST_KEPT, min(KEPT, CELLS // max(1, width))))
        self.needs = [context.label or ""]

    def applies(self) -> bool:
        return self.context.label is not None and bool(
            self.names or self.sized or self.texts or self.keyed or self.numbered
        )

    def rows(self, block: Block) -> Any:
        rows, label = super().rows(block), block.columns[self.context.label or ""]
        return rows[_present(label, rows).astype(bool)]  # what has no label is of no class

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        import numpy as np

        label = block.columns[self.context.label or ""]
        kept = {LABEL: _values(label, rows)}
        for name in self.names:
            column = block.columns.get(name)
            kept[f"field {name}"] = np.full(len(rows), np.nan) if column is None else _values(column, rows)
            if kept[f"field {name}"].dtype.kind == "u" and len(self.values) < MOST_NAMES:
                texts = texts_of(column, rows, NAME)
                self.values.update(zip(kept[f"field {name}"].tolist(), texts, strict=True))
        for name in self.sized:
            column = block.columns.get(name)
            values = None if column is None else column.values
            sizes = [0 if values is None else _size(values[i]) for i in rows.tolist()]
            kept[f"{SIZE} {name}"] = np.array(sizes, np.uint64)
        for name in self.encoded:
            files = block.raw if len(block.raw) == block.samples else None
            encodings = [0.0 if files is None else encoding_of(files[i]) for i in rows.tolist()]
            kept[f"{ENCODED} {name}"] = np.array(encodings, np.float64)
        for name in self.marked:
            kept[f"present {name}"] = _present(block.columns.get(name), rows)
        if (self.texts or kept[LABEL].dtype.kind == "u") and len(self.called) < MOST_NAMES:
            named = zip(kept[LABEL].tolist(), texts_of(label, rows), strict=True)
            self.called.update((value, text) for value, text in named if value == value)  # each NaN would be another
        for name in self.texts:
            said = texts_of(block.columns.get(name), rows)
            split = [_WORD.findall(text.casefold()) for text in said]
            kept[f"{FIRST} {name}"] = _digests(found[0] if found else "" for found in split)
            kept[f"{LAST} {name}"] = _digests(found[-1] if found else "" for found in split)
            kept[f"{AROUND} {name}"] = _digests(map(_around, said))
            begun = np.full((len(rows), READ), digest64(b""), np.uint64)
            many = np.array([min(len(found), READ) for found in split], np.int64)
            begun[np.arange(READ) < many[:, None]] = _digests(word for found in split for word in found[:READ])
            kept[f"{NAMED} {name}"] = begun
        for name in self.keyed:
            letters = (_LETTERS.match(text) for text in texts_of(block.columns.get(name), rows))
            kept[f"{LETTERS} {name}"] = _digests(found[0] if found is not None else "" for found in letters)
        for name in self.numbered:
            column = block.columns.get(name)
            kept[f"{KEY} {name}"] = np.full(len(rows), np.nan) if column is None else _values(column, rows)
        if self.numbered:
            kept[ORDER] = block.indices(rows).astype(np.float64)
        return kept

    def merge(self, other: Check) -> None:
        assert isinstance(other, Giveaway)
        super().merge(other)
        self.called.update(other.called)
        self.values.update(other.values)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts:
            return
        hashes, rows = self.drawn.all()
        label = rows[LABEL]
        there = ~np.isnan(label) if label.dtype.kind == "f" else np.ones(len(label), bool)
        learns = (mix(hashes) & np.uint64(1)).astype(bool)
        distinct, target = np.unique(label[there], return_inverse=True)
        every = [("field", name) for name in self.names] + [(SIZE, name) for name in self.sized]
        every += [(ENCODED, name) for name in self.encoded]
        every += [(what, name) for name in self.texts for what in (FIRST, LAST, AROUND)] + [
            (LETTERS, name) for name in self.keyed
        ]
        if self.numbered and len(distinct) <= CLASSES:
            stored = of_classes(rows[ORDER][there], target, learns[there])
            if stored is None or stored[0] < KNOWN:  # in a file that is sorted by class any number of a row tells it
                every += [(KEY, name) for name in self.numbered]
        if 2 <= len(distinct) <= CLASSES:
            for name in self.texts:
                written = rows[f"{NAMED} {name}"][there][:MOST_READ]
                if len(written) >= LEAST:
                    share = self._named(written, distinct, target[:MOST_READ])
                    yield Fact(WRITTEN, round(share, 4), self.evidence("sampled", len(written)), {"field": name})
        if 2 <= len(distinct) <= CLASSES:
            for name in self.marked:
                values = rows.get(f"field {name}")
                found = one_sided(
                    rows[f"present {name}"][there],
                    values[there] if values is not None and values.dtype.kind == "f" else None,
                    target,
                    CHANCE / len(self.marked),
                )
                if found is not None:
                    how, k, n, of, base, nearly_all = found
                    value = {
                        "how": how,
                        "class": self._label_of(distinct[k]),
                        "count": n,
                        "of": of,
                        "base": round(base, 4),
                        "nearly_all": nearly_all,
                    }
                    yield Fact(ONE_SIDED, value, self.evidence("sampled", int(there.sum())), {"field": name})
                    continue
                absent = by_class(~rows[f"present {name}"][there], target)
                if absent is not None:
                    k, own, others, n = absent
                    told = {
                        "class": self._label_of(distinct[k]),
                        "own": round(own, 4),
                        "others": round(others, 4),
                        "count": n,
                    }
                    yield Fact(ABSENT, told, self.evidence("sampled", int(there.sum())), {"field": name})
        if 2 < len(distinct) <= CLASSES:
            for name in self.names:
                both = together_only(rows[f"field {name}"][there], target)
                if (
                    both is not None and self._label_of(distinct[both[0]]).strip()
                ):  # of a blank label another check tells
                    k, value, n = both
                    told = {"class": self._label_of(distinct[k]), "value": self._value_of(name, value), "count": n}
                    yield Fact(TOGETHER, told, self.evidence("sampled", int(there.sum())), {"field": name})
        for what, name in every:
            values, classes, own = rows[f"{what} {name}"][there], target, learns[there]
            if what in (FIRST, LAST):
                longer = rows[f"{NAMED} {name}"][there][:, FEW_WORDS] != _digests([""])
                values, classes, own = values[longer], classes[longer], own[longer]
            if len(distinct) > CLASSES:
                if label.dtype.kind != "f":
                    return  # so many texts are not a label
                scored = of_ranks(values, classes, own)
            else:
                scored = of_classes(values, classes, own)
            if (
                what in (SIZE, ENCODED, AROUND)
                and 2 < len(distinct) <= CLASSES
                and (scored is None or scored[0] < KNOWN)
            ):
                yield from self._apart(what, name, values, distinct, target, learns[there])
            if scored is not None:
                value = {"score": round(scored[0], 4), "right": round(scored[1], 4), "guess": round(scored[2], 4)}
                value["renames"] = what == "field" and len(distinct) <= CLASSES and renames(values, classes)
                at = {"field": name} if what == "field" else {"field": name, "measure": what}
                yield Fact(GIVEAWAY, value, self.evidence("sampled", len(classes)), at)

    def _apart(self, what: str, name: str, values: Any, distinct: Any, target: Any, learns: Any) -> Iterable[Fact]:
        """The class that a measure tells best from all others, if it does."""
        scores = [
            (of_classes(values, (target == k).astype(int), learns) or (0.0, 0.0, 0.0))[0] for k in range(len(distinct))
        ]
        best = max(range(len(distinct)), key=scores.__getitem__)
        if scores[best] >= KNOWN:
            value = {"class": self._label_of(distinct[best]), "score": round(scores[best], 4)}
            yield Fact(APART, value, self.evidence("sampled", len(target)), {"field": name, "measure": what})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(APART):
            name = escaped(str(fact.at["field"]))
            what, fix = TOLD[str(fact.at["measure"])]
            text = f"{what.format(name)} alone separates class {escaped(fact.value['class'])} from all others"
            severity: Severity = "info" if self.context.guessed_by_values else "warning"
            yield finding("label-leaked-by-field", severity, text, fact, fix, [{"field": fact.at["field"]}])
        given = [fact for fact in facts.all(GIVEAWAY) if fact.value["score"] >= KNOWN]
        absent = {fact.at["field"] for fact in facts.all(ONE_SIDED)}  # of which letters tell no more
        given = [fact for fact in given if fact.at.get("measure") != LETTERS or fact.at["field"] not in absent]
        for fact in given:
            v, name = fact.value, str(fact.at["field"])
            measure = str(fact.at.get("measure", ""))
            what, fix = TOLD[measure]
            second = not measure and bool(set(words(name)) & SECOND_LABELS)
            tells_origin = bool({*words(name)} & ORIGINS)  # one hospital for each class is no name of it
            if v["renames"] and not second and not tells_origin:
                yield finding(
                    "label-leaked-by-field",
                    "info",
                    f"{escaped(name)} is another name of {escaped(self.context.label)}: each of its values belongs to one class, and each class to one value",
                    fact,
                    f"leave {escaped(name)} out of the inputs",
                    [{"field": name}],
                )
                continue
            known = (
                second or measure == LETTERS
            )  # a model hardly sees a text that identifies; a number it does, unless dropped
            severity = "info" if known or self.context.guessed_by_values else "warning"
            how = (
                f"predicts {escaped(self.context.label)} for {v['right']:.1%} of held-out samples"
                f" (always guessing the most common class: {v['guess']:.1%})"
                if v["right"]
                else f"determines the rank order of {escaped(self.context.label)} ({v['score']:.1%})"
            )
            yield finding(
                "label-leaked-by-field",
                severity,
                f"{what.format(escaped(name))} alone {how}"
                + ("; its name suggests a second form of the label" if second else ""),
                fact,
                fix.format(escaped(name)),
                [{"field": name}],
            )
        alone = {fact.at["field"] for fact in given}
        for fact in facts.all(ONE_SIDED):
            v, name = fact.value, escaped(str(fact.at["field"]))
            if fact.at["field"] not in alone:
                yield finding(
                    "label-leaked-by-field",
                    "warning" if v["nearly_all"] and not self.context.guessed_by_values else "info",
                    f"nearly all samples in which {name} {v['how']} have the same {escaped(self.context.label)}, {escaped(v['class'])}: "
                    f"{v['count']:,} of {v['of']:,} ({v['base']:.1%} of all samples have it)"
                    + (", and nearly all samples of that class are among them" if v["nearly_all"] else ""),
                    fact,
                    f"find out whether {name} is recorded after the label is known, as a date of death is; if so, drop it",
                    [{"field": fact.at["field"]}],
                )
        for fact in facts.all(ABSENT):
            v, name = fact.value, escaped(str(fact.at["field"]))
            if fact.at["field"] in alone:
                continue
            strong = abs(v["own"] - v["others"]) >= FAR_OFTENER and not self.context.guessed_by_values
            yield finding(
                "label-leaked-by-field",
                "warning" if strong else "info",
                f"whether {name} is missing gives {escaped(self.context.label)} away: it is missing in {v['own']:.1%} of the samples of class "
                f"{escaped(v['class'])}, but in {v['others']:.1%} of the others",
                fact,
                f"find out why {name} is missing: if it is recorded because of the label, or after it is known, drop it, and do not add "
                "a missing-value flag",
                [{"field": fact.at["field"]}],
                v["count"],
            )
        for fact in facts.all(TOGETHER):
            v, name = fact.value, escaped(str(fact.at["field"]))
            if fact.at["field"] in alone:
                continue
            what = f"{name} is {escaped(v['value'])}" if v["value"] else f"{name} has one value"
            yield finding(
                "label-leaked-by-field",
                "info" if self.context.guessed_by_values else "warning",
                f"{what} in all {v['count']:,} samples of class {escaped(v['class'])}, and in no others",
                fact,
                f"collect samples of this class with another {name}, and of other classes with this one: a model learns to recognise "
                f"{name} instead of the class, even where it only shows in the image or recording",
                [{"field": fact.at["field"]}],
                v["count"],
            )
        for fact in facts.all(WRITTEN):
            name = str(fact.at["field"])
            if fact.value >= KNOWN:
                text = f"{fact.value:.1%} of samples contain the name of their own class ({escaped(self.context.label)}), and of no other class, in"
                text += f" {escaped(name)}"
                fix = REMOVE.format(escaped(name))
                severity = "info" if self.context.guessed_by_values else "warning"
                yield finding("label-leaked-by-field", severity, text, fact, fix, [{"field": name}])

    def stands(self, one: Finding, facts: Facts) -> bool:
        """The words of a text hardly tell a class that is not its label; nor is a field called after what it does not depend on."""
        at, what = one.evidence[0]["at"], one.evidence[0]["fact"]
        assert isinstance(at, dict)
        if what == WRITTEN.name or at.get("measure") in (FIRST, LAST):
            return is_outcome(self.context.label)
        return (
            what in (GIVEAWAY.name, ONE_SIDED.name)
            and "measure" not in at
            and follows(str(at["field"]), self.context.label)
        )

    def _named(self, written: Any, distinct: Any, target: Any) -> float:
        """The share of texts, given as digests of words, that have the name of their own class in them and of no other."""
        import numpy as np

        holds = np.zeros((len(written), len(distinct)), bool)
        for k, value in enumerate(distinct.tolist()):
            name = self._name_of(self.called.get(value, ""))
            starts = written.shape[1] - len(name) + 1
            if name and starts > 0:
                hit = np.ones((len(written), starts), bool)
                for i, word in enumerate(_digests(name).tolist()):
                    hit &= written[:, i : i + starts] == np.uint64(word)
                holds[:, k] = hit.any(1)
        own = holds[np.arange(len(target)), target]
        return float((own & (holds.sum(1) == 1)).mean())

    def _label_of(self, value: Any) -> str:
        """The class of a label as it is kept."""
        text = self.called.get(value)
        if text is None:
            return self.context.class_name(value.item())
        return self.context.class_name(int(float(text))) if _NUMBER.fullmatch(text) else text

    def _value_of(self, name: str, value: Any) -> str:
        """A field's value as text; empty for a text, of which only a digest is kept."""
        texts = {f.name for f in self.context.fields if f.dtype == "str"}
        return self.values.get(int(value), "") if name in texts else format(float(value), "g")

    def _name_of(self, label: str) -> tuple[str, ...]:
        """The words of a class's name; none for a name that is too short to be told from a common word."""
        plain = self.context.class_name(int(float(label))) if _NUMBER.fullmatch(label) else label
        return tuple(_WORD.findall(plain.casefold())) if sum(map(str.isalpha, plain)) >= SHORT_NAME else ()


def _present(column: Column | None, rows: Any) -> Any:
    """Whether the samples have a value, bool [n]."""
    import numpy as np

    if column is None:
        return np.zeros(len(rows), bool)
    values = column.values
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        made = ~np.isnan(values[rows]) if values.dtype.kind == "f" and values.ndim == 1 else np.ones(len(rows), bool)
    else:
        made = np.array([_is_there(values[i]) for i in rows.tolist()], bool)
    return made if column.nulls is None else made & ~column.nulls[rows]


def _is_there(value: Any) -> bool:
    return value is not None and not (isinstance(value, str) and not value)


def _around(text: str) -> str:
    """The white space at a text's beginning and at its end; nothing of a blank one."""
    return f"{text[: len(text) - len(text.lstrip())]}|{text[len(text.rstrip()) :]}" if text.strip() else ""


def _digests(texts: Iterable[str]) -> Any:

    coded = numbered([*texts])
    return digests_of(coded.texts)[coded.codes]


def _size(value: Any) -> int:
    """A digest of an image's mode, width and height, or of an array's shape."""
    if hasattr(value, "getbands"):
        return digest64(f"{value.mode} {value.width} {value.height}".encode())
    return digest64(str(getattr(value, "shape", "")).encode())


def _values(column: Column, rows: Any) -> Any:
    """Numbers as float64, texts as digests; a missing value is NaN, or a digest of its own."""
    import numpy as np

    values = column.values
    absent = None if column.nulls is None else column.nulls[rows]
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        made = (
            values[rows].astype(np.float64).reshape(len(rows), -1)[:, 0] if values.size else np.full(len(rows), np.nan)
        )
        return made if absent is None else np.where(absent, np.nan, made)
    plain = values.tolist() if isinstance(values, np.ndarray) else values
    return np.array([digest64(str(plain[i]).encode("utf-8", "surrogatepass")) for i in rows.tolist()], np.uint64)


CHECK = Giveaway
