"""Findings on samples of one field that differ in shape or dtype."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from dataloader_expert.checks.base import FORMS, Context
from dataloader_expert.checks.files.fixes import FIXES
from dataloader_expert.checks.files.shape_texts import (
    axes_in,
    differ_along_one_axis,
    differ_in_channels_alone,
    dtype_in,
    family_of,
    is_empty,
    size_in,
    tail_in,
)
from dataloader_expert.conclusions import Finding, finding, verb
from dataloader_expert.errors import listed
from dataloader_expert.facts import Fact, Facts, Json, Quantity
from dataloader_expert.sources.arrays import has_boxes, picture_sides
from dataloader_expert.sources.base import Field

SHAPES = Quantity("shapes", "samples", "how many samples of a field have each shape and dtype (the 20 most common)")
SEPARATE = 3
"""The most fields that drift in the same files and are still reported one by one."""
LONG = ("sequence", "audio", "tokens", "text")
"""Kinds whose samples naturally differ in length."""
COMMON = 0.8
"""The share of samples of one shape from which that others differ is no variety."""
LISTS, EMPTIES = ("sequence", "array"), 0.05
"""Kinds of lists that may hold nothing, such as the boxes of an image without objects: if more than this share does, or several
fields at a time."""
OF_CHANNELS = "convert these images to the channels of the others, such as RGB, when they are read: padding would add empty channels"
FEWEST_ALIKE = 3
"""So many samples of one shape make it the usual one."""
MOST_SHAPES = 3
"""Unusual shapes that are named."""


def judge_shapes(fact: Fact, alike: Counter[str], facts: Facts, context: Context) -> Iterable[Finding]:
    """``alike``: how many fields are empty in the same samples."""
    name = fact.at["field"]
    field = next((f for f in context.fields if f.name == name), None)
    shapes: dict[str, int] = fact.value["shapes"]
    if field is None and 2 * fact.value["total"] < (fact.evidence.seen or 0):
        n = fact.value["total"]
        yield finding(
            "extra-key",
            "info",
            f"{name} is in {n} of {fact.evidence.seen} samples only",
            fact,
            f"leave {name} out, or write it in every sample",
            _odd(fact, lambda shape: True),
            n,
        )
    if field is None or fact.value["distinct"] < 2 or field.kind == "mask":
        return  # a mask is as large as its image
    if field.kind in ("text", "category", "number", "boolean", "time", "other"):
        forms = facts.value(FORMS, None, field=name, kind="numbers")
        if forms is None or not (
            forms["odd"] or len(forms["ways"]) > 1
        ):  # the texts among numbers are told by their forms
            yield from _judge_types(fact, name)
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
            _odd(fact, is_empty),
            empty,
        )
    elif field.kind != "tokens" and 0 < empty < total:  # tokens have a check of their own
        yield finding(
            "shape-drift",
            "error",
            f"{name}: {empty} of {total} samples {verb(empty, 'have')} length 0",
            fact,
            "drop them: most models and the default collate fail on them",
            _odd(fact, is_empty),
            empty,
        )
    if 0 < empty < total and field.kind != "tokens":
        total -= empty
        shapes = {shape: n for shape, n in shapes.items() if not is_empty(shape)}
        if len(shapes) < 2:
            return
        common, most = next(iter(shapes.items()))
    dtypes, tails = fact.value["dtypes"], fact.value["tails"]
    rare = max(1, total // 20)
    if field.kind in LONG and len(tails) > 1:  # lengths naturally differ, the other axes do not
        common, most = f"{next(iter(dtypes))}[*, {next(iter(tails))}]", next(iter(tails.values()))
    usual, spread = next(iter(dtypes)), Counter[str]()
    for shape, n in shapes.items():
        spread[axes_in(shape)] += n
    stored = field.kind == "image" and not any(dtype[:1].islower() for dtype in dtypes)
    # as many boxes are in each as there are things: a collate function lists both
    listed_with_boxes = bool(picture_sides(field)) and any(map(has_boxes, context.fields))
    # image modes have a check of their own, and how sound is stored depends on the codec: readers scale it to one range
    if len(dtypes) > 1 and field.kind != "audio" and all(dtype[:1].islower() for dtype in dtypes):
        yield finding(
            "dtype-drift",
            "warning",
            f"{name} has dtypes {', '.join(sorted(dtypes))}",
            fact,
            f"compare their ranges first, since casting fractions between 0 and 1 to integers turns them into 0; then {FIXES['dtype-drift']}"
            if len({dtype.startswith("float") for dtype in dtypes}) > 1
            else FIXES["dtype-drift"],
            _odd(fact, lambda shape: dtype_in(shape) != usual),
            sum(dtypes.values()) - dtypes[usual],
        )
        if len(spread) < 2 or (field.kind in LONG and len(tails) < 2):
            return  # the axes agree
        if field.kind not in LONG:
            common, most = spread.most_common(1)[0]
            common = f"[{common}"
    axes_of = axes_in
    if len(dtypes) > 1 and stored:
        # images of several modes: that they differ in channels is told by the check of modes
        axes_of = size_in
        sizes = Counter[str]()
        for shape, n in shapes.items():
            sizes[size_in(shape)] += n
        common, most = sizes.most_common(1)[0]
        if len(sizes) == 1:
            return
        common = f"[{common}, *]"
    few = total - most <= rare and most >= FEWEST_ALIKE  # two samples that differ tell no usual shape
    if len(tails) == 1 and not few and of_objects(field, context):
        return  # images show as many objects as they do
    axes, tail = axes_of(common), next(iter(tails))
    long = field.kind in LONG and (len(tails) > 1 or not few)  # where many lengths differ, that is not a fault
    places = _odd(fact, lambda shape: tail_in(shape) != tail if long else axes_of(shape) != axes)
    natural = field.kind == "audio" and len(tails) == 1  # recordings end when they end
    # and a collate function of the user's is there for samples of several lengths
    natural = natural or (
        context.collates and fact.value["ranks"] == 1 and differ_along_one_axis(shapes) and len(tails) == 1
    )
    if (few and not natural) or fact.value["ranks"] > 1:
        others = sorted({str(o["shape"]) for o in fact.value["odd"] if axes_of(str(o["shape"])) != axes})
        text = f"{'field ' * name.isdigit()}{name}: {total - most} of {total} samples {verb(total - most, 'are')} not {common}"
        if others and not long:
            text += f", but {listed(others, MOST_SHAPES)}"
        of_channels = bool(others) and all(
            differ_in_channels_alone(axes_in(common), axes_in(shape)) for shape in others
        )
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
        lengths = field.kind in (*LONG, *LISTS) and differ_along_one_axis(shapes)
        yield finding(
            "ragged",
            "info"
            if natural
            or stored
            or listed_with_boxes
            or field.kind == "audio"
            or context.collates
            or (lengths and most < COMMON * total)
            else "warning",
            f"{'field ' * name.isdigit()}{name} has {fact.value['distinct']} shapes, most often {common}",
            fact,
            "make sure that your collate function takes them" if context.collates else fix,
            places,
            fact.value["distinct"],
        )


def of_objects(field: Field, context: Context) -> bool:
    """Whether a sample has a value for each of its objects: boxes, their classes, keypoints."""
    keypoints = field.name == "keypoints" and len(field.shape) == 3
    return has_boxes(field) or field.name == context.classes_of_objects or keypoints


def _odd(fact: Fact, is_odd: Callable[[str], bool]) -> list[dict[str, Json]]:
    """Locations of the rarer shapes that are odd in this way."""
    odd: list[dict[str, Json]] = fact.value["odd"]
    kept = [o for o in odd if is_odd(str(o["shape"]))]
    return [{"sample": o["sample"], "file": o["file"], "field": fact.at["field"]} for o in kept]


def _judge_types(fact: Fact, name: str) -> Iterable[Finding]:
    """Texts among numbers, or lists among either; integers among decimals are not drift."""
    families = Counter[str]()
    for dtype, n in fact.value["dtypes"].items():
        families[family_of(dtype)] += n
    arrays = [shape for shape in fact.value["shapes"] if family_of(dtype_in(shape)) == "number"]
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
