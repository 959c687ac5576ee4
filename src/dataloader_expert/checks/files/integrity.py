"""What could not be read, what is not what it claims to be, and what differs between samples that should be alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from dataloader_expert.checks.base import (
    FORMS,
    HISTOGRAM,
    LABELS_EACH,
    PROBLEMS,
    SAMPLES_FAILED,
    SAMPLES_READ,
    Check,
    Context,
)
from dataloader_expert.checks.common.binned import binned
from dataloader_expert.checks.common.fingerprint import digest64
from dataloader_expert.checks.common.places import Places, dealt
from dataloader_expert.conclusions import MAX_PLACES, Finding, Severity, finding, verb
from dataloader_expert.errors import Unreadable, listed
from dataloader_expert.facts import Fact, Facts, Json, Quantity
from dataloader_expert.sources.arrays import has_boxes
from dataloader_expert.sources.base import Block, Unit

SHAPES = Quantity("shapes", "samples", "how many samples of a field have each shape and dtype (the 20 most common)")
FILES_READ = Quantity("files_read", "files", "distinct files from which samples were read")
SAMPLE_BYTES = Quantity("sample_bytes", "bytes", "min, median, p95 and max of a field's decoded size per sample")

MOST_KEPT = 1_000
"""The most locations kept for one code; ``MAX_PLACES`` for one file."""
NONE = type(None)
DEEPEST = 16
"""Levels of a nested object that are looked into."""
MOST_SIZES = 100_000
"""The most sample sizes of one field from which quantiles are computed."""
SEPARATE = 3
"""The most fields that drift in the same files and are still reported one by one."""
LONG = ("sequence", "audio", "tokens", "text")
"""Kinds whose samples naturally differ in length."""
COMMON = 0.8
"""The share of samples of one shape from which that others differ is no variety."""
LISTS, EMPTIES = ("sequence", "array"), 0.05
"""Kinds of lists that may hold nothing, such as the boxes of an image without objects: if more than this share does, or several
fields at a time."""
WARNINGS = {
    "wrong-extension",
    "broken-link",
    "special-file",
    "changed-while-read",
    "encoding-error",
    "foreign-file",
    "trailing-bytes",
    "missing-shard",
    "dtype-drift",
    "ragged",
    "empty-class",
    "odd-name",
    "duplicate-files",
}
INFOS = {"junk-file", "case-collision"}
PARTICULAR: dict[str, tuple[Severity, str]] = {
    "sample": ("info", "nothing to do, or move it into the folder of its split and class if it is a sample"),
    "table": ("info", "nothing to do, or pass its path as the source to read it"),
    "note": ("info", "nothing to do, or read it in your own Dataset if it says something of the samples"),
    "rows": ("info", "nothing to do, or delete them: other readers would make empty samples of them"),
    "zeros": ("warning", "pad these codes with zeros, and read the column as text: a parser of numbers drops them"),
}
"""How severe a problem of a particular kind is, and what is advised (``Unreadable.what``)."""
BROKEN = {
    "unreadable",
    "empty-file",
    "truncated",
    "not-the-format",
    "checksum-mismatch",
    "bomb",
    "executable-payload",
    "header-mismatch",
    "parse-error",
    "sample-raises",
    "sample-crashes",
    "missing-shard",
    "special-file",
    "broken-link",
    "outside-root",
    "duplicate-keys",
    "length-mismatch",
}
"""Codes of files and samples that could not be read, some of them because reading ended the process that tried."""
OF_CHANNELS = "convert these images to the channels of the others, such as RGB, when they are read: padding would add empty channels"
FEWEST_ALIKE = 3
"""So many samples of one shape make it the usual one."""
MOST_SHAPES = 3
"""Unusual shapes that are named."""
FIXES = {
    "truncated": "fetch or write the file again; compare its size with the original's",
    "empty-file": "fetch the file again or remove it from the dataset",
    "not-the-format": "inspect the first bytes: this is probably a saved error page or pointer; fetch it again",
    "wrong-extension": "rename the file to match its format",
    "bomb": "check where the file comes from; re-encode it at its real size",
    "executable-payload": "store plain arrays (numpy.save with allow_pickle=False, safetensors); never unpickle data from others",
    "outside-root": "pass --root with the folder that the link points to, or copy the file in",
    "dangling-reference": "add the missing files, or remove the rows that name them",
    "duplicate-keys": "give every sample its own key: readers merge samples that share a key, or keep only one of them",
    "length-mismatch": "write fields of one length, or leave the odd one out",
    "missing-shard": "fetch the missing file, or write the shards again",
    "junk-file": "delete it",
    "label-out-of-range": "regenerate the masks from their source in a lossless format such as PNG",
    "foreign-file": "move it out of the dataset's folder",
    "checksum-mismatch": "fetch the file again: its bytes have changed since it was written",
    "dtype-drift": "write all samples with one dtype",
    "shape-drift": "resize, pad or crop to one shape, or batch with a collate function that pads",
    "missing-key": "write every sample with the same fields",
    "missing-pair": "add the missing file, or remove its partner: a dataset that zips both lists mismatches every later pair",
    "parse-error": "repair them: strict readers stop there, others skip them or fill in missing values",
    "extra-key": "write every sample with the same fields, or leave this one out",
    "duplicate-files": "drop the copies",
    "encoding-error": "re-encode the file as UTF-8",
    "odd-name": "rename it",
    "splits-overlap": "remove it from all lists but one",
    "label-conflict": "find out which of the two is right",
    "empty-class": "delete the folder or add samples: torchvision's ImageFolder rejects it",
}
FIXES_OF_KIND = {
    (
        "length-mismatch",
        "mask",
    ): "resize these masks to their images with nearest-neighbour interpolation, or export them again",
    (
        "length-mismatch",
        "image",
    ): "fetch these images in the size that was annotated, or scale their annotations by the ratio",
}
"""By code and kind of field, where another fix is right for such a field."""


class Lacking:
    """How many samples lack a field, and their first units, by field and split."""

    def __init__(self) -> None:
        self.samples: Counter[str] = Counter()
        self.units: dict[tuple[str, str | None], list[dict[str, Any]]] = {}
        self.beyond: Counter[tuple[str, str | None]] = Counter()
        """Further units."""

    def note(self, name: str, block: Block) -> None:
        self.samples[name] += block.samples
        for unit in block.unit.members or (block.unit,):
            kept = self.units.setdefault((name, unit.split), [])
            if unit.samples > 1 and any(one["file"] == unit.file for one in kept):
                continue  # one file is one place
            if len(kept) < MAX_PLACES:
                sample = unit.start if unit.samples == 1 else None
                kept.append({"file": unit.file, "sample": sample, "split": unit.split, "key": unit.key})
            else:
                self.beyond[name, unit.split] += 1

    def merge(self, other: Lacking) -> None:
        self.samples += other.samples
        self.beyond += other.beyond
        for name, units in other.units.items():
            both = self.units.get(name, []) + units
            both.sort(key=lambda u: (-1 if u["sample"] is None else u["sample"], u["file"]))
            self.units[name] = both[:MAX_PLACES]
            self.beyond[name] += max(0, len(both) - MAX_PLACES)


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
        "label-out-of-range",
        "sample-raises",
        "splits-overlap",
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
        self.sizes: dict[str, list[int]] = {}
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
        for name in {f.name for f in self.context.fields} - set(block.columns):
            self.lacking.note(name, block)
        for name, splits in self.targets.items():
            if name in block.columns:
                splits.add(unit.split)
        for name, column in block.columns.items():
            values = column.values
            if isinstance(values, np.ndarray):
                if values.dtype.kind in "US":
                    self._shape(name, "str", len(values), block)
                    found = np.char.str_len(values).tolist()
                else:
                    self._shape(name, f"{_native(values)}{list(values.shape[1:])}", len(values), block)
                    found = [values[:1].nbytes] * min(len(values), 1000)
                sizes = self.sizes.setdefault(name, [])
                sizes += found[: max(0, MOST_SIZES - len(sizes))]
                continue
            sizes = self.sizes.setdefault(name, [])
            coded = column.coded is not None
            if coded or set(map(type, values)) <= {str, NONE}:  # by far the commonest lists, and long ones
                all_there = coded and column.nulls is None
                there = values if all_there else [value for value in values if value is not None]
                if there:
                    self._shape(name, "str", len(there), block, values.index(there[0]))
                    room = max(0, MOST_SIZES - len(sizes))
                    sizes += [len(value.encode("utf-8", "replace")) for value in there[:room]]
                continue
            for i, value in enumerate(values):
                if value is None:
                    continue
                shape, size = shape_of(value)
                self._shape(name, shape, 1, block, i)
                if _empty(shape):
                    mark = digest64(str(block.index(i)).encode())
                    self.empties[name] = (self.empties.get(name, 0) + mark) % (1 << 61)
                if len(sizes) < MOST_SIZES:
                    sizes.append(size)

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
            self.sizes[name] = (self.sizes.get(name, []) + sizes)[:MOST_SIZES]

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
            lengths = _lengths(shapes)
            if len(lengths) > 1 and name not in {f.name for f in self.context.fields if f.kind == "image"}:
                histogram = binned(sorted(lengths), [lengths[n] for n in sorted(lengths)])
                yield Fact(HISTOGRAM, histogram, evidence, {"field": name, "measure": "length"})
        for name, sizes in self.sizes.items():
            if sizes:
                low, median, high, top_ = np.percentile(np.array(sizes), [0, 50, 95, 100]).tolist()
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
        filled = [(shape, n) for shape, n in top if not _empty(shape)] or top
        dtypes, tails = Counter[str](), Counter[str]()
        for shape, n in filled:
            dtypes[_dtype(shape)] += n
            tails[_tail(shape)] += n
        usual = dtypes.most_common(1)[0][0], tails.most_common(1)[0][0]
        rare = sorted(
            (s for s, _ in top[1:]), key=lambda s: (not _empty(s), (_dtype(s), _tail(s)) == usual, shapes[s], s)
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
            "empty": sum(n for shape, n in shapes.items() if _empty(shape)),
            "empties": str(self.empties.get(name, "")),
            "ranks": len({shape.count(",") - shape.count("[]") for shape, _ in filled}),
            "odd": [{"shape": s, **place} for s, place in places[: 3 * MAX_PLACES]],
        }

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(PROBLEMS):
            code, value = str(fact.at["code"]), fact.value
            severity: Severity = "info" if code in INFOS else "warning" if code in WARNINGS else "error"
            usual = severity, self._fix(code, value["where"])
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
        found = [(fact, finding) for fact in shapes for finding in self._judge_shapes(fact, empty, facts)]
        yield from merged(found)

    def _fix(self, code: str, where: list[dict[str, Any]]) -> str:
        kinds = {f.name: f.kind for f in self.context.fields}
        kind = kinds.get(str(where[0].get("field"))) if where else None
        usual = FIXES.get(code, "repair or remove these files; the loader will fail on them too")
        return FIXES_OF_KIND.get((code, kind), usual) if kind else usual

    def _judge_shapes(self, fact: Fact, alike: Counter[str], facts: Facts) -> Iterable[Finding]:
        """``alike``: how many fields are empty in the same samples."""
        name = fact.at["field"]
        field = next((f for f in self.context.fields if f.name == name), None)
        shapes: dict[str, int] = fact.value["shapes"]
        if field is None and 2 * fact.value["total"] < (fact.evidence.seen or 0):
            n = fact.value["total"]
            yield finding(
                "extra-key",
                "info",
                f"{name} is in {n} of {fact.evidence.seen} samples only",
                fact,
                f"leave {name} out, or write it in every sample",
                self._odd(fact, lambda shape: True),
                n,
            )
        if field is None or fact.value["distinct"] < 2 or field.kind == "mask":
            return  # a mask is as large as its image
        if field.kind in ("text", "category", "number", "boolean", "time", "other"):
            forms = facts.value(FORMS, None, field=name, kind="numbers")
            if forms is None or not (
                forms["odd"] or len(forms["ways"]) > 1
            ):  # the texts among numbers are told by their forms
                yield from self._judge_types(fact, name)
            return
        total, (common, most) = fact.value["total"], next(iter(shapes.items()))
        empty = fact.value["empty"]
        if field.kind in LISTS and 0 < empty < total and (alike[fact.value["empties"]] > 1 or empty > EMPTIES * total):
            yield finding(
                "empty-sequence",
                "info",
                f"{name} is empty in {empty} of {total} samples",
                fact,
                "keep them if empty is meant, such as images without objects; the collate function must handle them",
                self._odd(fact, _empty),
                empty,
            )
        elif field.kind != "tokens" and 0 < empty < total:  # tokens have a check of their own
            yield finding(
                "shape-drift",
                "error",
                f"{name}: {empty} of {total} samples {verb(empty, 'have')} length 0",
                fact,
                "drop them: most models and the default collate fail on them",
                self._odd(fact, _empty),
                empty,
            )
        if 0 < empty < total and field.kind != "tokens":
            total -= empty
            shapes = {shape: n for shape, n in shapes.items() if not _empty(shape)}
            if len(shapes) < 2:
                return
            common, most = next(iter(shapes.items()))
        dtypes, tails = fact.value["dtypes"], fact.value["tails"]
        rare = max(1, total // 20)
        if field.kind in LONG and len(tails) > 1:  # lengths naturally differ, the other axes do not
            common, most = f"{next(iter(dtypes))}[*, {next(iter(tails))}]", next(iter(tails.values()))
        usual, spread = next(iter(dtypes)), Counter[str]()
        for shape, n in shapes.items():
            spread[_axes(shape)] += n
        if len(dtypes) > 1 and all(dtype[:1].islower() for dtype in dtypes):  # image modes have a check of their own
            yield finding(
                "dtype-drift",
                "warning",
                f"{name} has dtypes {', '.join(sorted(dtypes))}",
                fact,
                f"compare their ranges first, since casting fractions between 0 and 1 to integers turns them into 0; then {FIXES['dtype-drift']}"
                if len({dtype.startswith("float") for dtype in dtypes}) > 1
                else FIXES["dtype-drift"],
                self._odd(fact, lambda shape: _dtype(shape) != usual),
                sum(dtypes.values()) - dtypes[usual],
            )
            if len(spread) < 2 or (field.kind in LONG and len(tails) < 2):
                return  # the axes agree
            if field.kind not in LONG:
                common, most = spread.most_common(1)[0]
                common = f"[{common}"
        axes_of = _axes
        if len(dtypes) > 1 and not any(dtype[:1].islower() for dtype in dtypes):
            # images of several modes: that they differ in channels is told by the check of modes
            axes_of = _size
            sizes = Counter[str]()
            for shape, n in shapes.items():
                sizes[_size(shape)] += n
            common, most = sizes.most_common(1)[0]
            if len(sizes) == 1:
                return
            common = f"[{common}, *]"
        few = total - most <= rare and most >= FEWEST_ALIKE  # two samples that differ tell no usual shape
        if len(tails) == 1 and not few and (has_boxes(field) or name == self.context.classes_of_objects):
            return  # images show as many objects as they do
        axes, tail = axes_of(common), next(iter(tails))
        long = field.kind in LONG and (len(tails) > 1 or not few)  # where many lengths differ, that is not a fault
        places = self._odd(fact, lambda shape: _tail(shape) != tail if long else axes_of(shape) != axes)
        natural = field.kind == "audio" and len(tails) == 1  # recordings end when they end
        # and a collate function of the user's is there for samples of several lengths
        natural = natural or (
            self.context.collates and fact.value["ranks"] == 1 and _one_axis(shapes) and len(tails) == 1
        )
        if (few and not natural) or fact.value["ranks"] > 1:
            others = sorted({str(o["shape"]) for o in fact.value["odd"] if axes_of(str(o["shape"])) != axes})
            text = f"{'field ' * name.isdigit()}{name}: {total - most} of {total} samples {verb(total - most, 'are')} not {common}"
            if others and not long:
                text += f", but {listed(others, MOST_SHAPES)}"
            of_channels = bool(others) and all(_in_channels_alone(_axes(common), _axes(shape)) for shape in others)
            yield finding(
                "shape-drift",
                "error",
                text,
                fact,
                OF_CHANNELS if of_channels else FIXES["shape-drift"],
                places,
                total - most,
            )
        else:
            fix = "resize or pad in the dataset or in the collate function: the default collate raises"
            lengths = field.kind in (*LONG, *LISTS) and _one_axis(shapes)
            yield finding(
                "ragged",
                "info" if natural or self.context.collates or (lengths and most < COMMON * total) else "warning",
                f"{'field ' * name.isdigit()}{name} has {fact.value['distinct']} shapes, most often {common}",
                fact,
                "make sure that your collate function takes them" if self.context.collates else fix,
                places,
                fact.value["distinct"],
            )

    def _odd(self, fact: Fact, is_odd: Callable[[str], bool]) -> list[dict[str, Json]]:
        """Locations of the rarer shapes that are odd in this way."""
        odd: list[dict[str, Json]] = fact.value["odd"]
        kept = [o for o in odd if is_odd(str(o["shape"]))]
        return [{"sample": o["sample"], "file": o["file"], "field": fact.at["field"]} for o in kept]

    def _judge_types(self, fact: Fact, name: str) -> Iterable[Finding]:
        """Texts among numbers, or lists among either; integers among decimals are not drift."""
        families = Counter[str]()
        for dtype, n in fact.value["dtypes"].items():
            families[_family(dtype)] += n
        arrays = [shape for shape in fact.value["shapes"] if _family(_dtype(shape)) == "number"]
        if set(families) == {"list", "number"} and all("," in shape for shape in arrays):
            return  # a list of arrays that have one length, as they may by chance, is read as one array
        if len(families) > 1:
            listed = ", ".join(f"{n} {family}" for family, n in families.most_common())
            yield finding(
                "dtype-drift",
                "warning",
                f"{name} has values of several types: {listed}",
                fact,
                "write all samples with the same type",
                [{"sample": o["sample"], "file": o["file"], "field": name} for o in fact.value["odd"]],
                sum(list(dict(families.most_common()).values())[1:]),
            )


def merged(found: list[tuple[Fact, Finding]]) -> Iterable[Finding]:
    """The findings; those with the same code and severity on the same files have one cause and are merged."""
    alike: dict[Any, list[tuple[Fact, Finding]]] = {}
    for fact, one in found:
        files = frozenset(str(place.get("file")) for place in one.where)
        alike.setdefault((one.code, one.severity, files or id(one)), []).append((fact, one))
    for (code, severity, _), same in alike.items():
        if len(same) <= SEPARATE:
            yield from (one for _, one in same)
            continue
        names = [str(fact.at["field"]) for fact, _ in same]
        fact, first = same[0]
        yield finding(
            code,
            severity,
            f"{', '.join(names[:3])} and {len(names) - 3} more fields differ in the same files: {first.message}",
            [fact for fact, _ in same[:3]],
            first.fix,
            first.where,
            first.count,
        )


def shown(places: list[tuple[str, dict[str, Any]]]) -> list[tuple[str, dict[str, Any]]]:
    """Those that are reported, in sample order."""
    ordered = sorted(places, key=lambda p: (p[1].get("sample", -1), str(p[1].get("file"))))
    files: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for place in sorted(ordered, key=lambda p: "sample" not in p[1]):  # the sample says more than its file
        files.setdefault(str(place[1].get("file")), []).append(place)
    kept = dealt(files.values())
    return [place for place in ordered if any(place is k for k in kept)]


def _native(value: Any) -> str:
    """The name of the dtype, whatever its byte order."""
    return str(value.dtype.newbyteorder("="))


def _family(dtype: str) -> str:
    return "number" if dtype.startswith(("int", "uint", "float", "bool", "complex")) else dtype


def _lengths(shapes: dict[str, int]) -> Counter[int]:
    """How many samples have each length along the first axis: 80 of ``float32[80, 12]``."""
    found: Counter[int] = Counter()
    for shape, n in shapes.items():
        first = _axes(shape).partition(",")[0].rstrip("]")
        if first.isdigit():
            found[int(first)] += n
    return found


def _dtype(shape: str) -> str:
    return shape.split("[")[0]


def _axes(shape: str) -> str:
    """All axes: ``80, 12]`` of ``float32[80, 12]``."""
    return shape.partition("[")[2]


def _in_channels_alone(one: str, other: str) -> bool:
    """Whether pictures differ in their number of channels and in nothing else."""
    a, b = (axes.rstrip("]").split(", ") for axes in (one, other))
    apart = [i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y]
    return len(a) == len(b) == 3 and apart in ([0], [2]) and {a[apart[0]], b[apart[0]]} <= {"1", "3", "4"}


def _size(shape: str) -> str:
    """The axes before the last: ``64, 80`` of ``RGB[64, 80, 3]``."""
    return _axes(shape).rpartition(", ")[0]


def _one_axis(shapes: Iterable[str]) -> bool:
    """Whether the shapes differ along one axis only, whichever it is: that one has as many elements as a sample has."""
    axes = [_axes(shape).rstrip("]").split(", ") for shape in shapes]
    return len({*map(len, axes)}) == 1 and sum(len({*along}) > 1 for along in zip(*axes, strict=True)) == 1


def _empty(shape: str) -> bool:
    return _axes(shape).startswith(("0,", "0]"))


def _tail(shape: str) -> str:
    """The axes after the first: ``12`` of ``float32[80, 12]``."""
    return shape.partition("[")[2].partition(", ")[2].rstrip("]")


def shape_of(value: Any) -> tuple[str, int]:
    """A value's dtype and shape as text, and its size in decoded bytes."""
    if hasattr(value, "getbands"):
        bands = len(value.getbands())
        return f"{value.mode}[{value.height}, {value.width}, {bands}]", value.height * value.width * bands
    if hasattr(value, "nbytes"):
        return f"{_native(value)}{list(value.shape)}", int(value.nbytes)
    if isinstance(value, str):
        return "str", len(value.encode("utf-8", "replace"))
    if isinstance(value, bytes):
        return "bytes", len(value)
    return type(value).__name__, _held(value) if isinstance(value, dict | list | tuple) else 8


def _held(value: Any, depth: int = 0) -> int:
    """Bytes of the texts and numbers in a nested object, without its keys."""
    if isinstance(value, str | bytes):
        return len(value) if isinstance(value, bytes) or value.isascii() else len(value.encode("utf-8", "replace"))
    if isinstance(value, dict | list | tuple) and depth < DEEPEST:
        return sum(_held(inner, depth + 1) for inner in (value.values() if isinstance(value, dict) else value))
    size = getattr(value, "nbytes", None)
    return size if isinstance(size, int) else 0 if value is None else 8


CHECK = Integrity
