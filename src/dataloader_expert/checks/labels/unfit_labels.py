"""Labels of one split, file, source or stretch of rows that do not fit their content, as those of all others do: they were shuffled, moved by
a row, or written with other names.

Method: what the content tells of the label (``class_tellers``), learnt on all others. Labels of a part are told if chance alone makes them fit,
also by what the part itself tells, and its content lies amid that of the others (``fits``). Each field of content is looked at by itself:
a caption may tell a class that few pixels do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.class_tellers import by_means, by_presence, numbers_of_content
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.fingerprint import content_fields
from dataloader_expert.checks.common.origins import SPLIT, Origins, called
from dataloader_expert.checks.common.places import Files
from dataloader_expert.checks.common.rows_kept import Named, digest_of, numbered, places, texts_of
from dataloader_expert.checks.common.stretches import highest
from dataloader_expert.checks.common.swapped_classes import SWAPPED_IN
from dataloader_expert.checks.common.word_cells import cells_of
from dataloader_expert.checks.labels.fits import (
    LEAST,
    TELLING,
    amid,
    by_chance,
    inverted,
    kappa,
    known,
    renamed,
    unfit,
    varied,
)
from dataloader_expert.checks.labels.label_facts import MOVED, RENAMED, STOPPED, SWAPPED, UNFIT
from dataloader_expert.checks.labels.lagging import LAGGING
from dataloader_expert.checks.labels.ranked import by_cells, by_line, odd_groups
from dataloader_expert.conclusions import Finding, Severity, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Json
from dataloader_expert.sources.base import Block

KEPT, MOST_CLASSES, MOST_FIELDS, VALUES, TEXTS = 5_000, 50, 24, 20, 3
"""The most samples, classes, fields of a table, values of one that is a category, and fields of texts: of a premise and a hypothesis, either
may tell the label."""
MOST_PARTS = 60
"""The most parts of one kind."""
FILE, STRETCH = "the file", "the rows"
"""Stand for the fields whose values are files, and for a stretch of rows that nothing else tells."""
DISPUTED = 0.1
"""The share of others with content that recurs, and another label than most of the same, from which on labels answer different questions or
are several people's."""
KAPPA, AUC = "kappa", "AUC"
"""What agreement is measured by."""
RICH = ("image", "embedding", "array", "audio")


class Part(NamedTuple):
    """Some rows, bool [n]: how they are told from others, and how many such parts there are to choose among."""

    by: str
    of: str
    own: Any
    tries: float


class UnfitLabels(DrawnRows):
    ids = ("label-odd-one-out", "rows-shifted")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        kinds = {f.name: f for f in context.fields if f.name != context.label}
        self.origins = Origins(context)
        names = [name for name in content_fields(context) if name in kinds and name not in self.origins.named]
        rich = [name for name in names if kinds[name].kind in RICH][:1]
        self.texts = [f.name for f in kinds.values() if f.kind == "text"][:TEXTS]
        plain = [name for name in names if kinds[name].kind == "number" and not kinds[name].shape]
        sorts = [f.name for f in kinds.values() if f.kind in ("category", "boolean") and not f.shape]
        self.rich = rich
        self.plain = [] if rich or self.texts else plain[:MOST_FIELDS]
        self.sorts = {name: Named(VALUES) for name in ([] if rich or self.texts else sorts)[:MOST_FIELDS]}
        self.labels, self.named = Named(MOST_CLASSES), Named(MOST_PARTS)
        self.files, self.drawn = Files(), Drawn(KEPT)
        self.beside = [self.labels, self.named, *self.sorts.values(), self.origins, self.files]
        self.needs = [*self.rich, *self.plain, *self.texts[:1]]

    def applies(self) -> bool:
        label = next((f for f in self.context.fields if f.name == self.context.label), None)
        plain = label is not None and not label.shape and label.kind in ("category", "boolean")
        return plain and bool(self.rich or self.texts or self.plain or self.sorts)

    def see(self, block: Block) -> None:
        self.files.note(block)
        super().see(block)

    def rows(self, block: Block) -> Any:
        return () if self.labels.many else super().rows(block)

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        import numpy as np

        kept = self.origins.of(block, rows)
        kept["label"] = self.labels.of(block.columns.get(self.context.label or ""), rows)
        whole = [(block.unit.file if block.unit.samples > 1 else "")] if not block.unit.members else []
        kept["part"] = self.named.coded(numbered([whole[0] if whole else block.file(i) for i in rows.tolist()]))
        if self.rich or self.plain:
            kept["numbers"] = numbers_of_content(self.context, block, self.rich or self.plain, rows)
        for name, named in self.sorts.items():
            kept[f"sort {name}"] = named.of(block.columns.get(name), rows)
        for name in self.texts:
            kept[f"words {name}"] = np.stack([cells_of(text) for text in texts_of(block.columns.get(name), rows)])
        return kept

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts or self.labels.many:
            return
        _, rows = self.drawn.all()
        blank = np.array([digest_of(text) for text in ("", "None", "nan")], np.uint64)
        there = ~np.isin(rows["label"], blank)
        rows = {name: values[there] for name, values in rows.items()}
        classes, label = np.unique(rows["label"], return_inverse=True)
        told = np.zeros(len(label), bool)
        if not 2 <= len(classes) <= MOST_CLASSES or len(label) < 2 * LEAST:
            return
        for field, content in self._contents(rows):
            for fact, own in self._of(field, content, rows, classes, label, told):
                told |= own
                yield fact

    def _contents(self, rows: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        """Each field that may tell the label, with numbers or cells of words of each row; of a table all that it holds."""
        import numpy as np

        made = [rows["numbers"]] if "numbers" in rows else []
        for name, named in self.sorts.items():
            values = np.unique(rows[f"sort {name}"])
            if not named.many and len(values) > 1:
                made.append((rows[f"sort {name}"][:, None] == values).astype(np.float32))
        if made:
            yield (self.rich or [""])[0], np.concatenate(made, 1)
        for name in self.texts:
            yield name, rows[f"words {name}"]

    def _of(
        self, field: str, content: Any, rows: dict[str, Any], classes: Any, label: Any, told: Any
    ) -> Iterator[tuple[Fact, Any]]:
        import numpy as np

        words = content.dtype.kind == "i"
        there = (content >= 0).any(1) if words else np.isfinite(content).any(1)
        beside = _beside(rows["sample"], np.where(there, label, -1))
        if words or self.rich:  # rows of a table may be alike by chance
            there &= _once(content, label)
        if there.sum() < 2 * LEAST:
            return
        teller = (by_presence if words else by_means)(content[there], label[there], len(classes))
        kept, label, beside = {name: values[there] for name, values in rows.items()}, label[there], beside[:, there]
        same = np.unique(content[there], axis=0, return_inverse=True)[1].reshape(-1)
        every = np.ones(len(label), bool)
        guess = teller(every, every)
        for part in self._parts(kept, label, guess):
            own = np.zeros(len(told), bool)
            own[np.flatnonzero(there)[part.own]] = True
            known_already = 2 * (told & own).sum() > own.sum()
            if known_already or not varied(label, part.own) or (words and _again(same[~part.own]) >= DISPUTED):
                continue
            x = content[there]
            lies = known(x, part.own, label, len(classes)) if words else amid(x, part.own, teller)
            found = unfit(teller, label, part.own, beside, part.tries) if lies else None
            lies = lies and found is None and 2 * part.own.sum() <= len(label)  # else it is that of the others
            if lies and part.by in (SPLIT, FILE):  # where classes mean the same by nature
                found = inverted(teller, label, part.own, part.tries)
            # in a stretch of its choice, one class may well look odd
            given = lies and found is None and part.by != STRETCH
            other = renamed(teller, label, part.own, part.tries) if given else None
            at = {"field": field, "by": part.by, "of": part.of}
            evidence = self.evidence("sampled", len(label))
            if found is not None:
                value: dict[str, Json] = {"usual": found.usual, "here": found.here, "by": found.by}
                value |= {"inverted": found.inverted, "measure": KAPPA}
                value |= {"count": int(part.own.sum()), "where": places(kept, part.own, self.context.label or "")}
                value |= {"first": int(kept["sample"][part.own].min()), "last": int(kept["sample"][part.own].max())}
                yield Fact(UNFIT, value, evidence, at), own
            elif other is not None:
                value = {"class": self._called(int(classes[other.of])), "has": self._called(int(classes[other.to]))}
                value |= {"count": int(other.rows.sum()), "rows": other.seen, "usual": other.usual}
                yield (
                    Fact(RENAMED, value | {"where": places(kept, other.rows, self.context.label or "")}, evidence, at),
                    own,
                )
        if len(classes) == 2:
            yield from self._by_rank(field, content[there], kept, label, np.flatnonzero(there), told)

    def _by_rank(
        self, field: str, content: Any, rows: dict[str, Any], label: Any, at: Any, told: Any
    ) -> Iterator[tuple[Fact, Any]]:
        """Groups in which the labels are turned, or at random, by the order that content gives them."""
        import numpy as np

        score = (by_cells if content.dtype.kind == "i" else by_line)(content, label)
        for name in self.origins.named:
            of, whose = self.origins.groups(name, rows)
            if len(of) < 3 or not self.origins.tells_where(name, of, clear=False):
                continue
            for odd in odd_groups(score, label, whose, len(of)):
                here = whose == odd.group
                own = np.zeros(len(told), bool)
                own[at[here]] = True
                if not of[odd.group] or 2 * (told & own).sum() > own.sum():
                    continue
                value = {"usual": odd.usual, "here": odd.here, "by": 0, "inverted": odd.turned, "measure": AUC}
                value |= {"count": int(here.sum()), "where": places(rows, here, self.context.label or "")}
                value |= {"first": int(rows["sample"][here].min()), "last": int(rows["sample"][here].max())}
                where = {"field": field, "by": name, "of": of[odd.group]}
                yield Fact(UNFIT, value, self.evidence("sampled", len(label)), where), own

    def _parts(self, rows: dict[str, Any], label: Any, guess: Any) -> Iterator[Part]:
        """Parts to judge: splits, files, groups, and the stretch in which the fewest labels are as told."""
        import numpy as np

        usual = kappa(guess, label)
        for name in self.origins.named:
            of, whose = self.origins.groups(name, rows)
            if len(of) > 1 and self.origins.tells_where(name, of, clear=False):
                yield from self._doubtful(name, of, whose, label, guess, usual)
            if name == SPLIT:
                yield from self._of_files(rows, label, guess, usual)
        if SPLIT not in self.origins.named:
            yield from self._of_files(rows, label, guess, usual)
        chance = by_chance(guess, label)
        right = chance + usual * (1 - chance)
        if usual < TELLING or right >= 1 or chance <= 0:
            return
        order = np.argsort(rows["sample"])
        fits = (guess == label)[order]
        first, end = highest(np.where(fits, np.log(chance / right), np.log((1 - chance) / (1 - right))))
        own = np.zeros(len(label), bool)
        own[order[first:end]] = True
        yield Part(STRETCH, "", own, len(label) ** 2 / 2)

    def _of_files(self, rows: dict[str, Any], label: Any, guess: Any, usual: float) -> Iterator[Part]:
        import numpy as np

        if not self.named.many:
            values, whose = np.unique(rows["part"], return_inverse=True)
            of = [self.named.texts.get(int(value), "") for value in values]
            yield from self._doubtful(FILE, of, whose, label, guess, usual)

    def _doubtful(self, by: str, of: list[str], whose: Any, label: Any, guess: Any, usual: float) -> Iterator[Part]:
        """Groups, but none whose labels are told as well as those of all: splits are too few to leave any out."""
        for k, text in enumerate(of):
            own = whose == k
            if text and (by == SPLIT or (own.sum() >= LEAST and 2 * kappa(guess[own], label[own]) <= usual)):
                yield Part(by, text, own, len(of))

    def _called(self, value: int) -> str:
        text = self.labels.texts.get(value, "")
        return self.context.class_name(int(text) if text.isdecimal() else text)

    def judge(self, facts: Facts) -> Iterable[Finding]:
        others = (MOVED, SWAPPED, LAGGING, STOPPED, SWAPPED_IN)
        if any(any(facts.all(quantity)) for quantity in others):
            return  # these say more exactly what it is
        usual: Severity = "info" if self.context.guessed else "warning"
        label = escaped(self.context.label)
        for fact in facts.all(UNFIT):
            # whatever the field is: everywhere else it goes the other way
            severity: Severity = "warning" if fact.value["inverted"] and fact.value["measure"] == AUC else usual
            v, content = fact.value, escaped(str(fact.at["field"])) or "the rest of a row"
            where, n = self._where(fact), number(v["count"], "sample")
            agree = f"({v['measure']} {v['here']:.2f}; {v['usual']:.2f} elsewhere)"
            code, fix = "label-odd-one-out", "find out how the labels were joined to the samples there"
            if v["inverted"]:
                text = f"{label} seems to be inverted in {where} ({n} checked): {content} predicts the opposite {agree}"
                fix = "check a few; if so, swap the two classes there"
            else:
                text = f"{label} does not fit {content} in {where} ({n} checked): the two agree no better than chance {agree}"
            if v["by"]:
                code, fix = "rows-shifted", "check where these rows begin, and shift the labels back by one"
                text += f", but {content} fits the {label} of the {'next' if v['by'] > 0 else 'previous'} sample"
            yield finding(code, severity, text, fact, fix, v["where"], v["count"])
        for fact in facts.all(RENAMED):
            v = fact.value
            text = f"{label}: {v['count']:,} of {number(v['rows'], 'sample')} of {self._where(fact)} that look like "
            text += f"{escaped(v['class'])} are labelled {escaped(v['has'])} (elsewhere {v['usual']:.0%} are labelled {escaped(v['class'])}), and samples labelled {escaped(v['class'])} "
            text += "there look different"
            fix = "check a few; if so, the two classes were swapped there: swap them back"
            yield finding("label-odd-one-out", usual, text, fact, fix, v["where"], v["count"])

    def stands(self, one: Finding, facts: Facts) -> bool:
        return one.severity != "info"

    def _where(self, fact: Fact) -> str:
        by, of = fact.at["by"], fact.at["of"]
        if by == STRETCH:
            return self.files.stretch(int(fact.value["first"]), int(fact.value["last"]))
        return escaped(str(of)) if by == FILE else called(by, of)


def _once(content: Any, label: Any) -> Any:
    """The first row of each content with each label, bool [n]: what recurs would tell its own label."""
    import numpy as np

    made = np.zeros(len(label), bool)
    same = np.unique(content, axis=0, return_inverse=True)[1].reshape(-1)
    made[np.unique(same * (int(label.max()) + 1) + label, return_index=True)[1]] = True
    return made


def _again(same: Any) -> float:
    """The share of rows whose content, by its number, another row has."""
    import numpy as np

    _, counts = np.unique(same, return_counts=True)
    return float(counts[counts > 1].sum() / max(1, len(same)))


def _beside(samples: Any, label: Any) -> Any:
    """The label of the row after each row, and of the one before, -1 where that was not looked at, int64 [2, n]."""
    import numpy as np

    order = np.argsort(samples)
    made = np.full((2, len(label)), -1, np.int64)
    one, next_ = order[:-1], order[1:]
    beside = samples[next_] == samples[one] + 1
    made[0, one[beside]], made[1, next_[beside]] = label[next_[beside]], label[one[beside]]
    return made


CHECK = UnfitLabels
