"""What the duplicate checks keep for each sample, and how pairs of samples are reported."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.fingerprint import blank, content_fields, digest64, digests, mix
from dataloader_expert.checks.common.places import Files
from dataloader_expert.checks.common.scores import RATINGS
from dataloader_expert.checks.duplicates.right_answers import right_answers
from dataloader_expert.checks.duplicates.spilling import HELD, Rows, Spill, at_once
from dataloader_expert.conclusions import Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Evidence, Fact, Facts, Json, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.roles import words

DUPLICATES = Quantity(
    "duplicates", "samples", "groups of equal samples: how many, in how many splits, with how many labels"
)
AGREEING = Quantity("duplicates_agreeing", "samples", "the same for samples that are equal in their labels too")
NEAR = Quantity("near_duplicates", "samples", "near duplicates of another sample, exact copies not counted")
RATED = "nothing to do: people who write the same give different marks"
MOST_SHOWN = 20
FEWEST, NEARLY_ALL = 3, 0.95
"""The fewest near copies in folders of other names that tell something of these, and the share of them with the same name."""
PHRASE = 1
"""The bit of a digest that tells phrases from other samples, where they keep their digests."""
FRAMES, APART = 20, 2
"""The fewest near copies of which most have one that follows by number, as the frames of a clip do, and how far apart they are."""
BY_CHANCE, OF_MANY = 2, 150
"""Near copies that things of one kind may be by chance, and the samples among which they may."""
LIKENESSES = ("pictures", "recordings")
"""What is compared by how it looks or sounds: long texts do not have most of their words in common by chance."""
BESIDE = 8
"""How many times as many may have theirs in the next folder only as have one in their own."""
_NUMBERED = re.compile(r"(.*?)(\d+)(\D*)\Z")
_FACTOR = re.compile(r"(?<=.)[_-]?x\d+(?:\.\d+)?\Z")


class Seen:
    """Content digest, label, split and index of each sample, and a key by which samples are grouped.

    Beyond ``most`` samples (None: never) they are written to a file, partitioned by the first bits of their keys, so that memory
    does not grow with the data. The file is in the request's own folder.
    """

    def __init__(self, context: Context, most: int | None = None) -> None:
        self.context = context
        self.names = content_fields(context)
        kinds = {f.name: f for f in context.fields}
        timed = None if context.timed is None else context.timed.field
        self.measured = [
            n for n in self.names if "float" in kinds[n].dtype and kinds[n].kind not in ("image", "time") and n != timed
        ]
        """Fields of floats: whole numbers and texts that differ are different."""
        self.exact = [n for n in self.names if n not in self.measured]
        self.splits: list[str | None] = list(context.splits)
        self.parts: list[tuple[Any, Any, Any, Any, int, Any]] = []
        """Keys, digests, labels or None, splits or a single one for all, the index of the first sample, and rows or None for all:
        what is the same for all samples of a block is stored once."""
        self.files = Files()
        self.most = most
        self.held = 0
        """Samples in memory."""
        self.spills: list[Spill] = []
        self.few_labels: dict[str | None, set[int]] = {}
        """Two labels of each split, and -1 if it is one: where all are -1, and others, but several, elsewhere, they are withheld."""
        self.phrases = context.phrase > 0 and context.aside is not None
        """Whether phrases keep their digests: equal ones are no copies, but of two labels one is wrong."""

    def see(self, block: Block, key: Any = None) -> None:
        """``key``: one per sample, uint64; None: its digest."""
        import numpy as np

        n = block.samples
        if not n:
            return
        names, codes = self.context.splits_of(block)
        self.splits += [s for s in names if s not in self.splits]
        known = np.array([self.splits.index(s) for s in names], np.int16)
        split = int(known[0]) if len(names) == 1 else known[codes]
        rows = None if block.rows is None else block.rows[:n]
        digest = content_digests(block, self.measured, self.exact)
        even = blank(block, self.names, 0 if self.phrases else self.context.phrase)
        if even is not None:  # equal to no other, nor nearly
            own = mix(block.unit.start + (np.arange(n) if rows is None else rows).astype(np.uint64))
            digest = np.where(even[:n], digest ^ own, digest)
            key = None if key is None else np.where(even[:n], key + own, key)  # a key may be the same number
        if self.phrases:
            short = blank(block, self.names, self.context.phrase)
            digest = digest & ~np.uint64(PHRASE)
            digest = digest if short is None else digest | short[:n].astype(np.uint64)
        key = digest if key is None else key
        labels = self._labels(block)
        for code, name in enumerate(names if labels is not None else ()):
            self._note_labels(name, _ends(labels[(codes[:n] == code) & (labels != 0)]))
        self.parts.append((key, digest, labels, split, block.unit.start, rows))
        self.held += n
        self.files.note(block)
        self._spill()

    def _note_labels(self, name: str | None, few: set[int]) -> None:
        few = self.few_labels.get(name, set()) | few
        others = few - {HIDDEN}
        self.few_labels[name] = few - others | ({min(others), max(others)} if others else set())

    def _labels(self, block: Block) -> Any:
        """Each sample's label as a digest; 0 if it has none, which contradicts no other; None if no sample has one."""
        import numpy as np

        n = block.samples
        column = block.columns.get(self.context.aside or "")
        if column is None:
            return None
        key = f"labels {self.context.aside}"
        if key not in block.views:
            said = right_answers(block, str(self.context.aside))
            labels = _labels(column.values[:n] if said is None else said)
            if column.nulls is not None:
                labels[np.asarray(column.nulls[:n], bool)] = 0
            block.views[key] = labels
        return block.views[key]

    def rated(self, labels: Any) -> bool:
        """Whether these are marks of texts on a scale, such as stars: two people who write the same often give different ones."""
        import numpy as np

        kinds = {f.kind for f in self.context.fields if f.name in self.names}
        scale = self.context.aside is not None and not RATINGS.isdisjoint(words(self.context.aside))
        return scale and "text" in kinds and not kinds & {"image", "audio"} and len(np.unique(labels[labels != 0])) > 2

    def merge(self, other: Seen) -> None:
        import numpy as np

        self.splits += [s for s in other.splits if s not in self.splits]
        place = np.array([self.splits.index(s) for s in other.splits] or [0], np.int16)
        self.parts += [
            (key, digest, label, int(place[split]) if isinstance(split, int) else place[split], start, rows)
            for key, digest, label, split, start, rows in other.parts
        ]
        for name, few in other.few_labels.items():
            self._note_labels(name, few)
        self.held += other.held
        self.spills += [spill.renamed(place) for spill in other.spills]
        self.files.merge(other.files)
        self._spill()

    def twice(self) -> list[int]:
        """The indices of samples that equal another one."""
        return [int(i) for rows in self.together() for i in rows.repeated().index]

    def _spill(self) -> None:
        if self.most is not None and self.held > self.most:
            self.spills.append(Spill.of(self._rows()))
            self.parts, self.held = [], 0

    def _rows(self) -> Rows:
        """The samples in memory, in the order in which they were seen."""
        import numpy as np

        n = self.held
        rows = Rows(
            np.empty(n, np.uint64),
            np.empty(n, np.uint64),
            np.zeros(n, np.uint64),
            np.zeros(n, np.int16),
            np.empty(n, np.int64),
        )
        at = 0
        for key, digest, labels, splits, start, own in self.parts:
            here = slice(at, at + len(digest))
            rows.key[here], rows.digest[here] = key, digest
            if labels is not None:
                rows.label[here] = labels
            rows.split[here] = splits
            rows.index[here] = start + (np.arange(len(digest)) if own is None else own)
            at += len(digest)
        return rows

    def all(self) -> Rows:
        """All samples, in the order in which they were seen; only if nothing is ever spilled."""
        assert not self.spills
        return self._with_known_labels(self._rows())

    def together(self) -> Iterator[Rows]:
        """All samples in parts that fit in memory; samples with the same key are in the same part."""
        if not self.spills:
            yield self._with_known_labels(self._rows())
            return
        spills = [*self.spills, Spill.of(self._rows())]
        for first, last in at_once(spills, self.most or HELD):
            rows = Rows.joined([spill.read(first, last) for spill in spills])
            if len(rows):
                yield self._with_known_labels(rows)
        for spill in spills:
            spill.remove()

    def _with_known_labels(self, rows: Rows) -> Rows:
        """The same, where withheld labels are none."""
        import numpy as np

        hidden = [self.splits.index(name) for name, few in self.few_labels.items() if few == {HIDDEN}]
        others = set().union(*(few for few in self.few_labels.values() if few != {HIDDEN}))
        if not hidden or HIDDEN in others or len(others) < 2:
            return rows  # -1 is a class
        return replace(rows, label=np.where(np.isin(rows.split, hidden), np.uint64(0), rows.label))

    def place(self, index: int, split: int) -> dict[str, Json]:
        return {"sample": index, "split": self.splits[split], "file": self.files.of(index)}

    def named(self, codes: Iterable[int]) -> list[int]:
        """The splits among these, without the placeholder for samples in no split."""
        return [c for c in sorted(set(codes)) if self.splits[c] is not None]

    def pair_of(self, a: int, b: int) -> tuple[str, str]:
        """The names of two splits, training first."""
        one, two = sorted((str(self.splits[a]), str(self.splits[b])), key=lambda s: (s != "train", s))
        return one, two


def content_digests(block: Block, names: Sequence[str], first: Sequence[str] = ()) -> Any:
    """The block's digests of the fields ``first`` and ``names``, computed once for all checks, as are those of ``first``."""
    key = f"digests {list(first)} {list(names)}"
    if key not in block.views:
        block.views[key] = digests(block, names, content_digests(block, first) if first else None)
    return block.views[key]


def near_groups(seen: Seen) -> tuple[Rows, list[range]]:
    """Of samples with equal keys, one of each content, in groups of several: the samples, and where each group is among them."""
    import numpy as np

    found, groups, at = [Rows.none()], [], 0
    for rows in map(Rows.repeated, seen.together()):
        if not len(rows):
            continue
        order = np.lexsort((rows.index, rows.digest, rows.key))
        key, digest = rows.key[order], rows.digest[order]
        first = np.concatenate([[True], (key[1:] != key[:-1]) | (digest[1:] != digest[:-1])])
        order, key = order[first], key[first]  # one of each content
        starts = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
        sizes = np.diff(np.concatenate([starts, [len(key)]]))
        several = sizes > 1
        found.append(rows.take(order[np.repeat(several, sizes)]))
        for size in sizes[several].tolist():
            groups.append(range(at, at + size))
            at += size
    return Rows.joined(found), groups


def near_fact(
    seen: Seen, rows: Rows, of: str, groups: Iterable[Sequence[int]], rule: str, evidence: Evidence, missed: str = ""
) -> Fact:
    """The fact about groups of positions in ``rows`` whose samples nearly agree and are not equal.

    ``missed``: what the rule does not find.
    """
    label, split, index = rows.label, rows.split, rows.index
    groups = [list(group) for group in groups]
    extra: set[int] = set()
    pairs: list[tuple[int, int]] = []
    conflicts = 0
    crossing: Counter[tuple[str, str]] = Counter()
    crossed: list[tuple[int, int]] = []
    conflicting: list[tuple[int, int]] = []
    for group in groups:
        members = sorted(group, key=lambda i: int(index[i]))
        first, others = members[0], members[1:]
        extra.update(others)
        pairs += [(first, other) for other in others]
        splits = seen.named(split[members].tolist())
        for k, a in enumerate(splits):
            for b in splits[k + 1 :]:
                crossing[seen.pair_of(a, b)] += 1
                one, two = (next(i for i in members if split[i] == s) for s in (a, b))
                crossed.append((one, two))
        labels = {int(label[i]) for i in members} - {0}
        if len(labels) > 1:
            conflicts += 1
            other = next(i for i in others if label[i] not in (0, label[first]))
            conflicting.append((first, other))

    def tell(found: list[tuple[int, int]]) -> list[Json]:
        first = sorted(found, key=lambda p: (int(index[p[1]]), int(index[p[0]])))[:MOST_SHOWN]
        return [[seen.place(int(index[i]), int(split[i])) for i in pair] for pair in first]

    value = {
        "rated": seen.rated(label),
        "extra": len(extra),
        "of": len(rows),
        "pairs": tell(pairs),
        "cross_split": sum(crossing.values()),
        "by_pair": [{"splits": list(k), "count": n} for k, n in sorted(crossing.items())],
        "crossing": tell(crossed),
        "conflicts": conflicts,
        "conflicting": tell(conflicting),
        "rule": rule,
        "missed": missed,
        "versions": _versions(seen, rows, groups),
        "frames": 2 * len(pairs) >= FRAMES and _of_a_clip(seen, rows, pairs, groups),
    }
    return Fact(NEAR, value, evidence, {"of": of})


def _versions(seen: Seen, rows: Rows, groups: Sequence[Sequence[int]]) -> dict[str, Json] | None:
    """Where folders that seem to be classes hold the same images, as a sharp and a blurred one of each, under the same names: the
    number of samples of which another folder has a version, and the folders.

    Names alone agree by chance (``cat/0001.jpg``, ``dog/0001.jpg``), near copies alone may be mistakes: most samples must have a
    version, nearly all of them under its own name.
    """
    apart = [g for g in groups if len({int(rows.label[i]) for i in g} - {0}) > 1]
    members = {i for group in apart for i in group}
    if 2 * len(members) < len(rows) or len(apart) < FEWEST:
        return None
    folders: Counter[str] = Counter()
    named = 0
    for group in apart:
        paths = [str(seen.files.of(int(rows.index[i]))) for i in group]
        stems = {_stem(path) for path in paths}
        homes = {path.rpartition("/")[0] for path in paths}
        named += len(stems) == 1 and len(homes) == len(group)
        folders.update(homes)
    if named < NEARLY_ALL * len(apart):
        return None
    return {"samples": len(members), "folders": sorted(folders)[:MOST_SHOWN]}


def _of_a_clip(seen: Seen, rows: Rows, pairs: list[tuple[int, int]], groups: Sequence[Sequence[int]]) -> bool:
    """Whether what is alike are mostly neighbouring frames of one clip, by the names of files."""

    def named(i: int) -> str:
        return seen.files.of(int(rows.index[i])) or ""

    told = [(named(a), named(b), bool(rows.label[a] == rows.label[b])) for a, b in pairs]
    return _are_frames(told, [{*map(named, group)} for group in groups], seen.files.names())


def _are_frames(pairs: list[tuple[str, str, bool]], groups: list[set[str]], names: Iterable[str]) -> bool:
    """Whether most files of the pairs have a near copy that is a neighbour by number: the next of all files of that name by the last number in it,
    or such a one of the same label in the next folder, as clips of one recording are; the pairs say whether their labels are equal."""
    if len({name for *pair, _ in pairs for name in pair}) < FRAMES:
        return False
    every, within, beside = {name for group in groups for name in group}, set[str](), set[str]()
    place = _places_by_number(names)
    for group in groups:
        told = sorted((*place[name], name) for name in group if name in place)
        for a, b in itertools.pairwise(told):
            within.update((a[2], b[2]) if a[0] == b[0] and b[1] - a[1] <= APART else ())
    for *pair, same_label in pairs:
        one, two = (_NUMBERED.match(name) for name in pair)
        if one is None or two is None or one[3] != two[3] or abs(int(one[2]) - int(two[2])) > APART:
            continue
        homes = [_NUMBERED.match(match[1]) for match in (one, two)] if one[1] != two[1] and same_label else [None, None]
        if homes[0] is not None and homes[1] is not None and homes[0].group(1, 3) == homes[1].group(1, 3):
            beside.update(pair if abs(int(homes[0][2]) - int(homes[1][2])) <= APART else ())
    return 2 * len(within | beside) >= len(every) and len(within) * BESIDE >= len(beside)


def _places_by_number(names: Iterable[str]) -> dict[str, tuple[tuple[str, str], int]]:
    """Of each file that ends in a number what it is called without it, and its place among all that are called so: frames may be every tenth."""
    numbers: dict[tuple[str, str], dict[str, int]] = {}
    for name in names:
        if (match := _NUMBERED.match(name)) is not None:
            numbers.setdefault((match[1], match[3]), {})[name] = int(match[2])
    return {name: (of, i) for of, own in numbers.items() for i, name in enumerate(sorted(own, key=own.__getitem__))}


def _stem(path: str) -> str:
    """The name without its suffix, and without the factor by which the image is smaller: ``0001x2`` is of ``0001``."""
    return _FACTOR.sub("", path.rpartition("/")[2].rpartition(".")[0])


def judge_near(facts: Facts, of: str, sure: bool) -> Iterable[Finding]:
    """Findings on near duplicates of ``of``; ``sure``: similar rows may be different things, similar images hardly."""
    near = facts.find(NEAR, of=of)
    if near is None:
        return
    v = near.value
    sure = sure and (of not in LIKENESSES or v["extra"] > BY_CHANCE or v["of"] < OF_MANY)
    versions = v["versions"]
    if versions:
        yield finding(
            "near-duplicates",
            "info",
            f"{number(versions['samples'], of[:-1])} {verb(versions['samples'], 'have')} a version of the same name in another folder: {', '.join(map(escaped, versions['folders'][:6]))}",
            near,
            "treat each folder as an input or target of one sample, not as a class",
            [place for pair in v["conflicting"] for place in pair],
            versions["samples"],
        )
    frames = v["frames"] and not v["cross_split"]
    if v["extra"] and not versions:
        text = f"{number(v['extra'], of[:-1])} {'is a near duplicate' if v['extra'] == 1 else 'are near duplicates'} of another"
        yield finding(
            "near-duplicates",
            "warning" if sure and not frames else "info",
            f"{text}, most of the next one by number, as the frames of a clip are"
            if frames
            else f"{text} ({v['rule']})",
            near,
            "nothing to do, as long as each clip stays in one split; keeping every n-th frame loses little"
            if frames
            else "inspect the pairs; keep one of each, or keep both in one split",
            [place for pair in v["pairs"] for place in pair],
            v["extra"],
        )
    if v["cross_split"]:
        told = ", ".join(f"{p['count']} between {' and '.join(p['splits'])}" for p in v["by_pair"])
        yield finding(
            "splits-near-overlap",
            "warning" if sure else "info",
            f"near duplicates are in different splits: {told}",
            near,
            "inspect the pairs; keep each pair in one split",
            [place for pair in v["crossing"] for place in pair],
            v["cross_split"],
        )
    if v["conflicts"] and sure and not versions:
        yield finding(
            "label-conflict",
            "info" if frames or v["rated"] else "warning",  # what a clip shows begins and ends within it
            f"{v['conflicts']} {'sets' if v['conflicts'] != 1 else 'set'} of near duplicates {verb(v['conflicts'], 'have')} more than one label",
            near,
            RATED if v["rated"] else "inspect them and decide on one label",
            [place for pair in v["conflicting"] for place in pair],
            v["conflicts"],
        )


def _labels(values: Any) -> Any:
    """A digest of each label, uint64; computed once per value if values repeat."""
    import numpy as np

    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "biuf":
        distinct, at = np.unique(values, return_inverse=True)
        return np.array([_label(v) for v in distinct.tolist()], np.uint64)[at]
    plain = values.tolist() if isinstance(values, np.ndarray) else values
    try:
        table = {v: _label(v) for v in set(plain)}
        return np.fromiter((table[v] for v in plain), np.uint64, len(plain))
    except TypeError:  # lists cannot be keys
        return np.array([_label(v) for v in plain], np.uint64)


def _ends(labels: Any) -> set[int]:
    """The least and the largest of digests, but for that of -1, and this if it is one."""
    others = labels[labels != HIDDEN]
    ends = {int(others.min()), int(others.max())} if len(others) else set()
    return ends if len(others) == len(labels) else ends | {HIDDEN}


def _label(value: Any) -> int:
    missing = value is None or (isinstance(value, float) and value != value)
    if missing or (isinstance(value, str) and not value.strip()):
        return 0
    value = int(value) if isinstance(value, float) and value.is_integer() else value  # of a column with gaps
    spelt = value.strip().casefold() if isinstance(value, str) else str(value)  # another spelling is not another label
    return digest64(spelt.encode("utf-8", "replace")) or 1


HIDDEN = _label(-1)
"""The label of samples whose label is withheld, as GLUE's test splits have it."""
