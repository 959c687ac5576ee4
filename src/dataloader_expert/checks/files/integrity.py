"""What could not be read, what is not what it claims to be, and what differs between samples that should be alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from dataloader_expert.checks.base import HISTOGRAM, LABELS_EACH, PROBLEMS, SAMPLES_FAILED, SAMPLES_READ, Check, Context
from dataloader_expert.checks.common.binned import binned
from dataloader_expert.checks.common.fingerprint import digest64
from dataloader_expert.checks.common.places import Places, dealt
from dataloader_expert.checks.files.fixes import INFOS, PARTICULAR, WARNINGS, fix_of
from dataloader_expert.checks.files.lacking import Lacking
from dataloader_expert.checks.files.shape_findings import SHAPES, judge_shapes, merged
from dataloader_expert.checks.files.shape_texts import dtype_in, dtype_of, is_empty, lengths_in, shape_of, tail_in
from dataloader_expert.conclusions import MAX_PLACES, Finding, Severity, finding
from dataloader_expert.errors import Unreadable
from dataloader_expert.facts import Fact, Facts, Json, Quantity
from dataloader_expert.sources.base import Block, Unit

FILES_READ = Quantity("files_read", "files", "distinct files from which samples were read")
SAMPLE_BYTES = Quantity("sample_bytes", "bytes", "min, median, p95 and max of a field's decoded size per sample")

MOST_KEPT = 1_000
"""The most locations kept for one code; ``MAX_PLACES`` for one file."""
NONE = type(None)
MOST_SIZES = 100_000
"""The most sample sizes of one field from which quantiles are computed."""


class Integrity(Check):
    ids = (
        "unreadable",
        "empty-file",
        "truncated",
        "wrong-extension",
        "not-the-format",
        "checksum-mismatch",
        "broken-link",
        "outside-root",
        "special-file",
        "bomb",
        "executable-payload",
        "header-mismatch",
        "missing-shard",
        "changed-while-read",
        "encoding-error",
        "parse-error",
        "foreign-file",
        "junk-file",
        "case-collision",
        "trailing-bytes",
        "duplicate-keys",
        "missing-key",
        "missing-pair",
        "extra-key",
        "dtype-drift",
        "shape-drift",
        "ragged",
        "length-mismatch",
        "rate-drift",
        "label-out-of-range",
        "sample-raises",
        "splits-overlap",
        "out-of-range-ids",
        "label-conflict",
    )

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.problems: dict[str, list[tuple[str, dict[str, Any]]]] = {}
        self.counts: dict[str, int] = {}
        self.in_file: Counter[tuple[str, str]] = Counter()
        self.failed = 0
        self.shapes: dict[str, dict[str, int]] = {}
        self.examples = Places()
        """By field and shape."""
        self.lacking = Lacking()
        masks = [f.name for f in context.fields if f.kind == "mask"]
        self.targets: dict[str, set[str | None]] = {
            n: set() for n in (context.label, *context.withheld, *masks) if n is not None
        }
        """Splits in which a sample has the label, or a mask."""
        self.sizes: dict[str, Counter[int]] = {}
        """How often each size comes among some samples of a field."""
        self.sized: Counter[str] = Counter()
        """How many these are."""
        self.empties: dict[str, int] = {}
        """By field, a sum over the samples in which it is an empty list: equal for fields that are empty together."""
        self.files: set[str] = set()

    def found(self, problem: Unreadable, unit: Unit | None = None) -> None:
        """Records a defect; ``unit`` is where it was found. Those of a particular kind are kept apart."""
        where = dict(problem.where)
        if unit is not None:
            where.setdefault("file", unit.file)
            if unit.samples == 1:
                where.setdefault("sample", unit.start)
            where.setdefault("split", unit.split)
            where.setdefault("key", unit.key)
        kind = f"{problem.code} {problem.what}".strip()
        kept = self.problems.setdefault(kind, [])
        place = (where.get("file"), where.get("sample"), where.get("field"))
        if "sample" in where and kept and place == tuple(kept[-1][1].get(k) for k in ("file", "sample", "field")):
            return  # a damaged file is one location, however much of it is wrong
        if problem.code == "empty-file" and any(held.get("file") == where.get("file") for _, held in kept):
            return  # seen when the files were listed, and again when it was read
        self.counts[kind] = self.counts.get(kind, 0) + 1
        here = (kind, str(where.get("file")))
        self.in_file[here] += 1
        if len(kept) < MOST_KEPT and self.in_file[here] <= MAX_PLACES:
            kept.append((problem.message, {k: v for k, v in where.items() if v not in (None, "")}))

    def fail(self, unit: Unit, problem: Unreadable) -> None:
        """Records a unit that could not be read or decoded."""
        self.failed += unit.samples
        self.files.add(unit.file)
        self.found(problem, unit)

    def see(self, block: Block) -> None:
        import numpy as np

        unit = block.unit
        self.seen += block.samples
        self.failed += max(0, unit.samples - block.samples)
        self.files.update(member.file for member in unit.members or (unit,))
        for problem in block.problems:
            self.found(problem, unit if unit.samples == 1 else None)
        unread = {problem.where.get("field") for problem in block.problems}  # which is there, but cannot be decoded
        for name in {f.name for f in self.context.fields} - set(block.columns) - unread:
            self.lacking.note(name, block)
        for name, splits in self.targets.items():
            if name in block.columns:
                splits.add(unit.split)
        for name, column in block.columns.items():
            values = column.values
            if isinstance(values, np.ndarray):
                if values.dtype.kind in "US":
                    self._shape(name, "str", len(values), block)
                    found = Counter(np.char.str_len(values).reshape(-1)[: self._room(name)].tolist())
                else:
                    self._shape(name, f"{dtype_of(values)}{list(values.shape[1:])}", len(values), block)
                    found = Counter({values[:1].nbytes: min(len(values), 1000, self._room(name))})
                self._sizes(name, found)
                continue
            coded = column.coded is not None
            if coded or set(map(type, values)) <= {str, NONE}:  # by far the commonest lists, and long ones
                all_there = coded and column.nulls is None
                there = values if all_there else [value for value in values if value is not None]
                if there:
                    self._shape(name, "str", len(there), block, values.index(there[0]))
                    room = self._room(name)
                    self._sizes(name, Counter(len(value.encode("utf-8", "replace")) for value in there[:room]))
                continue
            for i, value in enumerate(values):
                if value is None:
                    continue
                shape, size = shape_of(value)
                self._shape(name, shape, 1, block, i)
                if is_empty(shape):
                    mark = digest64(str(block.index(i)).encode())
                    self.empties[name] = (self.empties.get(name, 0) + mark) % (1 << 61)
                if self._room(name):
                    self._sizes(name, {size: 1})

    def _room(self, name: str) -> int:
        """How many more sizes of a field are kept."""
        return max(0, MOST_SIZES - self.sized[name])

    def _sizes(self, name: str, found: Mapping[int, int]) -> None:
        known = self.sizes.setdefault(name, Counter())
        for size, n in found.items():
            known[size] += n
            self.sized[name] += n

    def _shape(self, name: str, shape: str, n: int, block: Block, i: int = 0) -> None:
        if not n:
            return  # a unit none of whose rows could be read
        counts = self.shapes.setdefault(name, {})
        counts[shape] = counts.get(shape, 0) + n
        if len(counts) < 1000:
            for row in range(
                i, i + max(1, min(n, len(block.unit.members), MAX_PLACES))
            ):  # each of several files is a place
                self.examples.add((name, shape), block, row)

    def merge(self, other: Check) -> None:
        assert isinstance(other, Integrity)
        self.seen += other.seen
        self.failed += other.failed
        self.files |= other.files
        for code, found in other.problems.items():
            self.problems[code] = (self.problems.get(code, []) + found)[:MOST_KEPT]
        for key, n in other.counts.items():
            self.counts[key] = self.counts.get(key, 0) + n
        self.examples.merge(other.examples)
        self.lacking.merge(other.lacking)
        for name, splits in other.targets.items():
            self.targets[name] |= splits
        for name, shapes in other.shapes.items():
            mine = self.shapes.setdefault(name, {})
            for shape, n in shapes.items():
                mine[shape] = mine.get(shape, 0) + n
        for name, mark in other.empties.items():
            self.empties[name] = (self.empties.get(name, 0) + mark) % (1 << 61)
        for name, sizes in other.sizes.items():
            self._sizes(name, sizes)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        evidence = self.evidence(n=self.seen + self.failed)
        yield Fact(SAMPLES_READ, self.seen, evidence)
        yield Fact(SAMPLES_FAILED, self.failed, evidence)
        yield Fact(FILES_READ, len(self.files - {""}), evidence)
        self._compare_keys()
        # in an order that does not depend on which process read what
        for kind, places in sorted(self.problems.items(), key=lambda item: (-self.counts[item[0]], item[0])):
            at = shown(places)
            value = {"count": self.counts[kind], "message": at[0][0], "where": [w for _, w in at]}
            code, _, what = kind.partition(" ")
            yield Fact(PROBLEMS, value, evidence, {"code": code} | ({"what": what} if what else {}))
        for name, shapes in self.shapes.items():
            yield Fact(SHAPES, self._shapes(name, shapes), evidence, {"field": name})
            lengths = lengths_in(shapes)
            if len(lengths) > 1 and name not in {f.name for f in self.context.fields if f.kind == "image"}:
                histogram = binned(sorted(lengths), [lengths[n] for n in sorted(lengths)])
                yield Fact(HISTOGRAM, histogram, evidence, {"field": name, "measure": "length"})
        for name, counts in self.sizes.items():
            if counts.total():
                sizes = np.repeat([*counts.keys()], [*counts.values()])
                low, median, high, top_ = np.percentile(sizes, [0, 50, 95, 100]).tolist()
                value = {"min": int(low), "median": median, "p95": high, "max": int(top_)}
                yield Fact(SAMPLE_BYTES, value, evidence, {"field": name})

    def _compare_keys(self) -> None:
        """Fields that most samples have and others lack; extra fields of a few samples are not a fault."""
        told = {place.get("file") for _, place in self.problems.get("missing-pair", ())}
        for name, split in sorted(self.lacking.units, key=str):
            targets = self.targets.get(name)
            if 2 * self.lacking.samples[name] > self.seen or (targets is not None and split not in {None, *targets}):
                continue  # a split whose labels or masks are withheld
            for where in self.lacking.units.pop((name, split)):
                if where["file"] in told:
                    continue
                of = f" from {where['key']}" if where.get("key") else ""
                self.found(Unreadable("missing-key", f"{name} is missing{of}", field=name, **where))
            if self.lacking.beyond[name, split] and "missing-key" in self.counts:
                self.counts["missing-key"] += self.lacking.beyond.pop((name, split))

    def _shapes(self, name: str, shapes: dict[str, int]) -> dict[str, Json]:
        """The commonest shapes, the distribution of dtypes and trailing axes, and locations of the rarer shapes."""
        top = sorted(shapes.items(), key=lambda kv: (-kv[1], kv[0]))
        # an empty list has neither dtype nor axes
        filled = [(shape, n) for shape, n in top if not is_empty(shape)] or top
        dtypes, tails = Counter[str](), Counter[str]()
        for shape, n in filled:
            dtypes[dtype_in(shape)] += n
            tails[tail_in(shape)] += n
        usual = dtypes.most_common(1)[0][0], tails.most_common(1)[0][0]
        rare = sorted(
            (s for s, _ in top[1:]), key=lambda s: (not is_empty(s), (dtype_in(s), tail_in(s)) == usual, shapes[s], s)
        )
        if name not in {f.name for f in self.context.fields}:
            rare = list(shapes)
        places = [(s, place) for s in rare[: 3 * MAX_PLACES] for place in self.examples.of((name, s))]
        return {
            "shapes": dict(top[:20]),
            "distinct": len(top),
            "total": sum(shapes.values()),
            "dtypes": dict(dtypes.most_common()),
            "tails": dict(tails.most_common(20)),
            "empty": sum(n for shape, n in shapes.items() if is_empty(shape)),
            "empties": str(self.empties.get(name, "")),
            "ranks": len({shape.count(",") - shape.count("[]") for shape, _ in filled}),
            "odd": [{"shape": s, **place} for s, place in places[: 3 * MAX_PLACES]],
        }

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(PROBLEMS):
            code, value = str(fact.at["code"]), fact.value
            severity: Severity = "info" if code in INFOS else "warning" if code in WARNINGS else "error"
            usual = severity, fix_of(code, value["where"], self.context)
            severity, fix = PARTICULAR.get(str(fact.at.get("what")), usual)
            n = value["count"]
            where = value["where"][0].get("file") if value["where"] else None
            several = f" (the first of {n})" if n > 1 else ""
            lead = f"{where}{several}: " if where else f"{n} places: " if n > 1 else ""
            yield finding(
                code,
                severity,
                f"{lead}{value['message']}",
                fact,
                fix,
                value["where"],
                n,
            )
        empty = Counter(fact.value["empties"] for fact in facts.all(SHAPES))
        sets = {fact.at["field"] for fact in facts.all(LABELS_EACH)}  # a sample without any label is no fault
        shapes = [fact for fact in facts.all(SHAPES) if fact.at["field"] not in sets or not fact.value["empty"]]
        found = [(fact, finding) for fact in shapes for finding in judge_shapes(fact, empty, facts, self.context)]
        yield from merged(found)


def shown(places: list[tuple[str, dict[str, Any]]]) -> list[tuple[str, dict[str, Any]]]:
    """Those that are reported, in sample order."""
    ordered = sorted(places, key=lambda p: (p[1].get("sample", -1), str(p[1].get("file"))))
    files: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for place in sorted(ordered, key=lambda p: "sample" not in p[1]):  # the sample says more than its file
        files.setdefault(str(place[1].get("file")), []).append(place)
    kept = dealt(files.values())
    return [place for place in ordered if any(place is k for k in kept)]


CHECK = Integrity
