"""Tables next to images or recordings that say something of each file: its label, its split, its boxes.

A table annotates the files below its own folder (all, where it lies in a folder without any) if one of its columns names them,
with or without suffix. JSON may be a list of objects or in the format of COCO. Values of several rows of one file become lists
where they differ.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from dataloader_expert.errors import Unreadable, escaped
from dataloader_expert.sources.annotations.bare import Bare, bare_table, is_row, together
from dataloader_expert.sources.annotations.coco import Images
from dataloader_expert.sources.annotations.divided import one_split_each
from dataloader_expert.sources.annotations.naming import (
    BARE,
    FEWEST,
    Sought,
    further_files,
    names_pairs,
    naming_of,
    numbering,
)
from dataloader_expert.sources.annotations.objects import Folded, folded
from dataloader_expert.sources.annotations.record import (
    LOOKED_AT,
    MOST_FIELDS,
    MOST_TOLD,
    NAMELESS,
    NEARLY_ALL,
    ODD,
    Annotations,
    Names,
    Row,
    Table,
    folds_told,
)
from dataloader_expert.sources.annotations.rows import (
    ENTRY,
    HEAD,
    MARKS,
    READERS,
    VALUE,
    Reader,
    flat,
    separated,
    typed,
)
from dataloader_expert.sources.annotations.transcripts import name_texts
from dataloader_expert.sources.base import Objects
from dataloader_expert.sources.dialects import sniff_dialect
from dataloader_expert.sources.files import SIDE_FILES, Entry, Listing, is_about
from dataloader_expert.sources.label_names import label_by_name
from dataloader_expert.sources.layout import AROUND, is_form, split_in_name, split_of_folder, without_split
from dataloader_expert.sources.pairing import key_of
from dataloader_expert.sources.roles import FROM_ONE, PARTITION, words

MOST_BYTES, MOST_JSON = 1 << 26, 1 << 29
MOST_NAMES = 1 << 23
"""Bytes of the largest table of names."""
MOST_HEADER = 3
"""Rows of a header below its first."""
PERSONS = {**{word: word for word in ("identity", "subject", "speaker", "patient")}, "spk": "speaker"}
"""Words in the name of a table of two columns, such as Kaldi's ``utt2spk``, and what they say the other one is."""
NUMBERED = "numbered"
"""The kind of tables that name files by the numbers in which their names end."""
FEW_TEXTS = 20
"""So many text files are always looked into, and more if there are many samples: they may name them."""
MAY_NAME = {"labels.json", "labels.txt", "metadata.json", "_classes.csv"}
"""Files that may hold the names of classes or a word about the data, or else name the files."""
MISTAKES = 0.05
"""The largest share of the files that are named by several rows by mistake; where more are, each has a list."""


def join_tables(found: Annotations, listing: Listing, paths: list[str]) -> None:
    texts = [e for e in listing.entries if e.kind == "text" and not is_about(e.path)]
    named, keys = Sought(paths), {key_of(path)[0] for path in paths if texts}
    texts = [e for e in texts if key_of(e.path)[0] not in keys]
    aside = {*found.tables} - {*found.lists}  # lists of other things beside those of splits
    texts = [e for e in texts if e.path not in aside]
    own = [e for e in texts if 0 < e.size <= MOST_BYTES and e.path.rsplit("/", 1)[-1] not in SIDE_FILES]
    alone = together(listing, own, lambda folder: named.below(folder, None))
    bare = {*alone, *([e.path for e in texts] if len(texts) <= max(FEW_TEXTS, len(paths) // 5) else [])}
    things = _things(bare)
    joined = {table.path for table in found.joined}
    named_so: dict[str, dict[str, Collection[str]]] = {}
    """By split the files that each table called after it names."""
    by_folder: dict[str, dict[str, None]] = {}
    widths: set[int] = set()
    for entry in listing.entries:
        read = READERS.get(entry.kind or "") or (separated if entry.path in bare else None)
        name = entry.path.rsplit("/", 1)[-1]
        most = min(MOST_JSON, listing.most_bytes // 8) if entry.kind == "json" else MOST_BYTES
        if read is None or not 0 < entry.size <= most or is_about(entry.path) or name in SIDE_FILES - MAY_NAME:
            continue
        if is_form(name) or entry.path in joined:
            continue
        folder, split = entry.path[: -len(name)], split_in_name(name)
        try:
            made = read_table(listing, entry, read, named, split, alone.get(entry.path))
            if made is None:
                continue
            table, rows, files = made
            if names_pairs(rows, table, files, folder):
                found.tables.append(table.path)
                found.of_pairs.append(table.path)
                continue
            further = further_files(rows, table, files, folder)
            if further:
                found.further |= {name: {**found.further.get(name, {}), **of} for name, of in further.items()}
                rows = [{k: v for k, v in row.items() if k not in further} for row in rows]
            if table.kind == BARE:
                if all(map(NAMELESS.fullmatch, rows[0])) and not _say_the_same(found, rows, table, files, folder):
                    widths.add(len(rows[0]))
                rows = _apart(found, rows, table, files, folder, things.get(table.path))
            there = add_rows(found, table, rows, files, folder)
        except ODD:
            continue
        if isinstance(rows, Images):
            _take_over(found, rows, table, files, folder)
        if split is not None:
            named_so.setdefault(split, {})[entry.path] = there
        elif (of_folder := next(filter(None, map(split_of_folder, folder.split("/"))), None)) is not None:
            by_folder.setdefault(of_folder, {}).update(dict.fromkeys(there))
    by_split = _first_fold(found, named_so)
    found.uneven = len(widths) > 1
    name_texts(found)
    if any(table.named for table in found.joined):
        _number(found)
        _describe(found, listing)
    if not by_split and sum(map(len, by_folder.values())) == len({path for of in by_folder.values() for path in of}):
        by_split = by_folder  # tables of the same names in a folder for each split, as Kaldi writes them
    if len(by_split) > 1:
        for split, of in by_split.items():
            found.divide(split, of)


def _first_fold(found: Annotations, named: Mapping[str, Mapping[str, Collection[str]]]) -> dict[str, dict[str, None]]:
    """The files of each split, if tables that differ in a number name the same files of the first alone: they are folds, not parts."""
    folds: dict[str, list[str]] = {}
    overlap = False
    for of in named.values():
        forms: dict[str, list[str]] = {}
        for path in sorted(of, key=_in_numbers):
            forms.setdefault(re.sub(r"\d+", "0", path), []).append(path)
        folds |= forms
        for alike in forms.values():
            every = {file for path in alike for file in of[path]}
            overlap |= len(of[alike[0]]) < len(every) < sum(len(of[path]) for path in alike)
    n = min((len(alike) for alike in folds.values()), default=1)
    kept = (
        {alike[0] for alike in folds.values()} if overlap and n > 1 else {path for of in named.values() for path in of}
    )
    if overlap and n > 1:
        found.folds = folds_told(n, min(kept))
    return {s: dict.fromkeys(f for path in of if path in kept for f in of[path]) for s, of in named.items()}


def _in_numbers(path: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", path)]


def _number(found: Annotations) -> None:
    """Numbers the names of classes, for all tables alike."""
    rows = [row for row in found.rows.values() if isinstance(row.get("classes"), list)]
    names = sorted({name for row in rows for name in row["classes"] if isinstance(name, str)})
    numbers = {name: i for i, name in enumerate(names)}
    for row in rows:
        row["classes"] = [name if isinstance(name, int) else numbers.get(name, -1) for name in row["classes"]]
    found.objects = Objects("classes", dict(enumerate(names)))
    for i, table in enumerate(found.joined):
        if table.named and table.sides is not None:
            found.joined[i] = replace(table, sides=replace(table.sides, names=tuple(names)))


def _describe(found: Annotations, listing: Listing) -> None:
    """Takes the names that a table of two columns gives the codes of classes, as ``/m/0k4j,Car``."""
    codes = {*found.objects.names.values()} if found.objects is not None else set()
    if not codes or not all(any(map(str.isdigit, code)) for code in codes):
        return
    joined = {*found.tables}
    for entry in listing.entries:
        if entry.kind in ("csv", "tsv", "text") and 0 < entry.size <= MOST_NAMES and entry.path not in joined:
            lines = listing.read(entry.path).decode("utf-8", "replace").splitlines()
            cells = [re.split(r"\t|,|\s+", line.strip(), maxsplit=1) for line in lines if line.strip()]
            names = {of[0]: of[1].strip(' "') for of in cells if len(of) == 2}
            if codes <= names.keys() and len(names) == len(cells) and len({names[c] for c in codes}) == len(codes):
                assert found.objects is not None
                numbered = {number: names[code] for number, code in found.objects.names.items()}
                found.objects = replace(found.objects, names=numbered)
                found.tables.append(entry.path)
                return


def _take_over(found: Annotations, rows: Images, table: Table, files: Names, folder: str) -> None:
    """What a file in COCO's format says beyond its rows."""
    if rows.lost:
        text = f"annotates images that it does not list, {rows.lost} time{'s' * (rows.lost > 1)}"
        found.problems.append(Unreadable("dangling-reference", text, file=table.path, field="image_id"))
    for code, field, odd in (("length-mismatch", "keypoints", rows.odd), ("label-conflict", "boxes", rows.unlike)):
        for name, text in odd[:MOST_TOLD]:
            where = {"file": path} if (path := files.find(name, table.by_stem, folder)) else {}
            found.problems.append(Unreadable(code, text, field=field, **{"file": table.path, **where}))
    if "categories" not in rows[0]:
        return
    if found.objects is None:
        found.objects = Objects("categories", rows.names)
    known = found.objects.names
    other = [n for n in sorted(rows.names) if known.get(n, rows.names[n]) != rows.names[n]]
    if other:
        told = ", ".join(f"{n} is {rows.names[n]!r}, not {known[n]!r}" for n in other[:3])
        text = f"names categories differently from another file: {told}{', …' if len(other) > 3 else ''}"
        found.problems.append(Unreadable("label-conflict", text, file=table.path, field="categories"))


def read_table(
    listing: Listing, entry: Entry, read: Reader, named: Sought, split: str | None, known: Bare | None = None
) -> tuple[Table, list[Row], Names] | None:
    """The table, its rows and the files that they may name; None if no column of it names files.

    ``known``: of one without a header, its rows and the column that names files.
    """
    large = entry.size > HEAD and entry.kind != "json"  # the beginning of which tells nothing
    few: list[Row] = []
    if entry.kind != "text":
        few = read(listing.head(entry.path, HEAD), True) if large else read(listing.read(entry.path), False)
    of_values = read is separated
    if not few and not of_values:
        return None
    folder = entry.path[: entry.path.rfind("/") + 1]
    files = named.below(folder, split)
    naming = naming_of(few, files, folder)
    if naming is None and split is not None:  # its samples may lie in the folder of another split, as LVIS's do
        files = named.below(folder, None)
        naming = naming_of(few, files, folder)
    if naming is None and few and (numbered := numbering(few, files)) is not None:
        rows = read(listing.read(entry.path), False) if large else few
        paths = files.numbered()
        rows = [{**row, numbered: paths.get(row[numbered], str(row[numbered]))} for row in rows if numbered in row]
        return Table(entry.path, NUMBERED, numbered, by_stem=False), flat(rows), files
    if of_values and (naming is None or files.find(*naming, folder) is not None or is_row(naming[0], few)):
        bare = known or bare_table(listing, entry, files)
        if bare is None or (bare[1][1] and entry.path.rsplit("/", 1)[-1] in MAY_NAME):
            return None  # names of classes may be those of files
        return (Table(entry.path, BARE, *bare[1]), typed(bare[0], bare[1][0]), files)
    if naming is None or (few[0].keys() == {ENTRY, VALUE} and (naming[0] != ENTRY or len(few) < FEWEST)):
        return None  # what a value names is something else than a row
    rows = flat(read(listing.read(entry.path), False) if large else few)
    if not of_values:
        return Table(entry.path, "coco" if isinstance(rows, Images) else str(entry.kind), *naming), rows, files
    dialect = sniff_dialect(listing.head(entry.path, HEAD), MARKS, entry.size <= HEAD)
    return Table(entry.path, str(entry.kind), *naming, dialect=dialect), typed(rows, naming[0]), files


def _things(texts: Collection[str]) -> dict[str, str]:
    """What each of several texts says of the files that it names, where one of each thing is there for each split:
    ``images_variant_train.txt`` and ``images_variant_test.txt`` beside ``images_maker_train.txt`` and ``images_maker_test.txt``."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    for path in texts:
        folder, _, name = path.rpartition("/")
        split, stem = split_in_name(name), without_split(name.rpartition(".")[0])
        thing = "_".join(word for word in stem.lower().split("_") if word not in AROUND and not word.isdigit())
        if split is not None and thing:
            found.setdefault(folder, {}).setdefault(thing, {})[split] = path
    alike = [of for of in found.values() if len(of) > 1 and min(map(len, of.values())) > 1]
    alike = [of for of in alike if len({frozenset(paths) for paths in of.values()}) == 1]
    return {path: thing for of in alike for thing, paths in of.items() for path in paths.values()}


def rows_of_list(listing: Listing, entry: Entry, sought: Sought) -> tuple[Table, list[Row], Names] | None:
    """The table of one column without a name that is a list of files; None if it is none."""
    folder = entry.path[: entry.path.rfind("/") + 1]
    files = sought.below(folder, None)
    lines = [line.strip() for line in listing.read(entry.path).decode("utf-8-sig", "replace").splitlines()]
    lines = [line for line in lines if line]
    there = sum(files.find(line, False, folder) is not None for line in lines[:LOOKED_AT])
    if there < max(FEWEST, NEARLY_ALL * len(lines[:LOOKED_AT])):
        return None
    return Table(entry.path, BARE, "f0", by_stem=False), [{"f0": line} for line in lines], files


def _apart(
    found: Annotations, rows: list[Row], table: Table, files: Names, folder: str, thing: str | None
) -> list[Row]:
    """The rows; columns without a name are called after the table if another table has such with other values. ``thing``: what the
    table says of each file."""
    taken = set()
    for row in rows:
        path = files.find(str(row.get(table.naming)), table.by_stem, folder)
        known = found.rows.get(path or "", {})
        taken |= {n for n in row if NAMELESS.fullmatch(n) and n != table.naming and known.get(n, row[n]) != row[n]}
    name = table.path.rpartition("/")[2]
    stem = name.rpartition(".")[0] or name
    others = dict.fromkeys(n for row in rows for n in row if n != table.naming)
    said = set(words(stem))
    people = {PARTITION: PARTITION, **PERSONS}
    called = thing or next((people[w] for w in people if w in said and not said & {"label", "labels"}), None)
    if len(others) == 1 and called is not None:  # CelebA's list_eval_partition.txt and identity_CelebA.txt
        return [{called if name in others else name: v for name, v in row.items()} for row in rows]
    if (
        len(others) == 1
        and "split" in said
        and all({row.get(name) for row in rows} == FROM_ONE.keys() for name in others)
    ):
        return [{"split" if name in others else name: v for name, v in row.items()} for row in rows]
    return [{f"{stem}_{name}" if name in taken else name: v for name, v in row.items()} for row in rows]


def _say_the_same(found: Annotations, rows: list[Row], table: Table, files: Names, folder: str) -> bool:
    """Whether a table without a header says what others have said of most of its files in the columns that both have."""
    alike = 0
    for row in rows[:LOOKED_AT]:
        known = found.rows.get(files.find(str(row.get(table.naming)), table.by_stem, folder) or "", {})
        both = [name for name in row if name in known and NAMELESS.fullmatch(name)]
        alike += bool(both) and all(known[name] == row[name] for name in both)
    return 2 * alike > len(rows[:LOOKED_AT])


def add_rows(found: Annotations, table: Table, rows: list[Row], files: Names, folder: str) -> Collection[str]:
    """Adds the rows to the samples that they name, and returns these."""
    made = folded(rows, table.naming) if found.images else Folded(rows)
    rows = made.rows
    grouped: dict[str, list[Row]] = {}
    paths: dict[str, str] = {}
    lost: Counter[str] = Counter()
    for row in rows[_of_header(rows, table, files, folder) :]:
        value = row.get(table.naming)
        path = None if value is None else files.find(str(value), table.by_stem, folder)
        if path is None:
            lost["" if value is None else str(value)] += 1
        else:
            grouped.setdefault(path, []).append(row)
            paths[str(value)] = path
    fields = [field for field in dict.fromkeys(field for row in rows for field in row) if field != table.naming]
    if len(fields) > MOST_FIELDS:
        return ()
    fields = [field for field in fields if not _names_again(field, table, rows, files, folder)]
    own = made.sides is not None or made.nested or isinstance(rows, Images)
    again = {path: of for path, of in grouped.items() if len(of) > 1}
    if again and not own and not made.lists and len(again) <= MISTAKES * len(grouped):
        found.problems += [_named_again(path, of, table, fields) for path, of in again.items()][:MOST_TOLD]
        grouped |= {path: of[:1] for path, of in again.items()}
    for field in fields:
        found.problems += one_split_each(grouped, field, table.path)
    several = {
        field
        for of in grouped.values()
        if len(of) > 1
        for field in fields
        if not _agree([r[field] for r in of if field in r])
    } | made.lists
    for path, of in grouped.items():
        of = _in_known_order(of, found.rows.setdefault(path, {}), fields)
        values = {field: [r[field] for r in of if field in r] for field in fields}
        found.add(path, {f: v if f in several else _first(v) for f, v in values.items() if v})
    found.tables.append(table.path)
    found.joined.append(
        replace(
            table,
            paths=paths,
            lists=frozenset(several),
            sides=made.sides,
            named=made.named,
            nested=made.nested,
            fields=tuple(fields),
        )
    )
    found.objects = found.objects or made.objects
    found.corners = found.corners and (made.corners if own else "boxes" not in fields)
    sizes = {files.find(name, table.by_stem, folder): size for name, size in made.sizes.items()}
    found.sizes |= {path: size for path, size in sizes.items() if path is not None}
    for value, n in lost.most_common(MOST_TOLD):
        what = f"names {escaped(value, 80)}, which is not there" if value else "names no file in a row"
        rows_of = f" ({n} rows)" if n > 1 else ""
        named = {"key": escaped(value)} if value else {}
        found.problems.append(
            Unreadable("dangling-reference", what + rows_of, file=table.path, field=table.naming, **named)
        )
    return grouped


def _first(values: list[Any]) -> Any:
    return next((value for value in values if value is not None), None)


def _in_known_order(of: list[Row], known: Row, fields: list[str]) -> list[Row]:
    """The rows of a sample in the order in which an earlier table has their keys, with nothing for keys that either lacks: the answers of
    VQA stand in another order than the questions that they belong to."""
    for field in fields:
        keys = known.get(field)
        if not isinstance(keys, list) or len(keys) < 2 or not all(isinstance(key, str | int) for key in keys):
            continue
        rows = {row.get(field): row for row in of if isinstance(row.get(field), str | int)}
        if (
            len(rows) < len(of)
            or len({*keys}) < len(keys)
            or 2 * len(rows.keys() & {*keys}) < max(len(rows), len(keys))
        ):
            continue
        more = [key for key in rows if key not in keys]
        for name, values in known.items() if more else ():
            if isinstance(values, list) and len(values) == len(keys):
                known[name] = [*values, *(more if name == field else [None] * len(more))]
        return [rows.get(key, {name: key if name == field else None for name in fields}) for key in [*keys, *more]]
    return of


def _of_header(rows: list[Row], table: Table, files: Names, folder: str) -> int:
    """How many of the first rows are of the header too, as the names of points and of their coordinates above the files: a word each,
    where all others name files with a suffix."""
    names = [str(row.get(table.naming) or "") for row in rows[: MOST_HEADER + 1]]
    n = next((i for i, name in enumerate(names) if files.find(name, table.by_stem, folder) is not None), 0)
    return n if not table.by_stem and all(name.isalpha() for name in names[:n]) else 0


def _names_again(field: str, table: Table, rows: list[Row], files: Names, folder: str) -> bool:
    """Whether a column gives the path of the file that another names, as ``image`` beside ``id`` of LLaVA."""
    few = [(row.get(table.naming), row.get(field)) for row in rows[:LOOKED_AT]]
    if field == VALUE or not all(isinstance(value, str) and "." in value for _, value in few):
        return False
    meant = [(files.find(str(name), table.by_stem, folder), files.find(str(path), False, folder)) for name, path in few]
    return all(one is not None and one == other for one, other in meant)


def _named_again(path: str, rows: list[Row], table: Table, fields: list[str]) -> Unreadable:
    """What is told of a file that several rows name where others have one each."""
    apart = [field for field in fields if not _agree([row.get(field) for row in rows])]
    said = ", ".join(escaped(row.get(apart[0]), 40) for row in rows[:3]) if apart else ""
    differ = f", which differ in {escaped(apart[0])}: {said}; the first is used" if apart else ""
    code = "label-conflict" if apart and label_by_name(apart[:1])[0] is not None else "duplicate-keys"
    return Unreadable(code, f"{len(rows)} rows of {escaped(table.path)} name it{differ}", file=path)


def _agree(values: list[Any]) -> bool:
    return all(value == values[0] for value in values)
