"""The text of a module in plain torch that builds a data set's loaders; its settings are left open."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from itertools import takewhile
from pathlib import Path
from typing import Any

from dataloader_expert.checks.base import MISSING
from dataloader_expert.checks.images.pictures import MODES
from dataloader_expert.facts import Json
from dataloader_expert.probes.base import Bench
from dataloader_expert.probes.batch_parts import place
from dataloader_expert.probes.data.layout import LABEL, PRESENT
from dataloader_expert.probes.data.scan import SCANNED
from dataloader_expert.probes.handing_over import literals, reader_of, reading, side_by_side, sources_of, unread
from dataloader_expert.probes.model.batch import BATCH, COLLATE
from dataloader_expert.sources import plain_files
from dataloader_expert.sources.annotations.record import Table
from dataloader_expert.sources.arrays import has_boxes, pixel_boxes
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.members import stored_names
from dataloader_expert.sources.pictures import GREY
from dataloader_expert.sources.plain import ANNOTATIONS, READERS, read_dataset

SETTINGS = "__SETTINGS__"
MOST_PLACES = 50
HELD = 8
"""Times the bytes on disk that rows in memory may take, as far as is known before they are read."""
RENAMED, DEEPEST = {"image", "audio", "sample_rate", "label"}, 8
"""Fields beside which one of a table gets another name; the most folders that its names have beyond ours."""
IN_MEMORY = 0.5
"""The share of the memory allowed that they may take."""

HEAD = '''"""Training, validation and test loaders in plain torch{needs}. Run it: it checks the first batch of each."""

from __future__ import annotations

{imports}from collections.abc import {named}
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset, Subset, default_collate

SETTINGS = __SETTINGS__
"""Keyword arguments of each loader."""
'''
REFERENCE = '''
{imported}


def datasets() -> dict[str, Any]:
    """{said}"""
    return {{
{made}    }}
'''
END = """

if __name__ == "__main__":
    main()
"""


class NotWritten(Exception):
    """``str()`` says what no plain code is written for."""


def written(bench: Bench) -> str:
    """The module.

    Raises:
        NotWritten: if none is written for this source.
    """
    from dataloader_expert.loaders import plain

    source, batch = bench.source, bench.facts.value(BATCH)
    if batch is None:
        raise NotWritten("batches that were not made here")
    if bench.facts.value(PRESENT) is not None:
        raise NotWritten("your own DataLoader")
    collate = bench.facts.value(COLLATE, {"name": "default", "varying": [], "size": None})
    pads = collate["name"] == "pad"
    if collate["name"] == "list":
        raise NotWritten("samples that can be neither stacked nor padded")
    split_by_column = False
    if source.format == "reference":
        reader: Any = read_dataset
        body, kind = of_reference(bench) + "\n\n", ""
    else:
        reader, constants, parts, table = of_files(bench, source, batch["fields"], collate["size"])
        kind, split_by_column = parts[-1].__name__, "\nSPLIT_NAMES = " in constants
    at_random = source.format != "reference" and not source.splits and not split_by_column

    def ours(*functions: Any) -> str:
        """Their source, which alone is adapted: literals of the data stay as they are."""
        text = sources_of(functions, reader, bool(getattr(source, "members", ()))) + "\n\n"
        if plain_files.with_box not in functions:
            text = text.replace("            line = with_box(line, *SIDES[place]) if place in SIDES else line\n", "")
        text = text.replace("def datasets_by_column(", "def datasets(").replace("Samples(files(", f"{kind}(files(")
        text = text if at_random else text.replace("in split(datasets())", "in datasets()")
        return text.replace("collate_fn=COLLATE", f"collate_fn={'pad' if pads else None}")

    if source.format != "reference":
        datasets = plain.datasets_by_column if split_by_column else plain.datasets
        body = f"{constants}\n\n{ours(*parts[:-1])}{table}\n\n{ours(parts[-1], datasets)}"
    ends: list[Any] = (
        [plain.tensor_of, plain.as_mapping, plain.stacked, plain.filler, plain.listed, plain.joined_samples, plain.pad]
        if pads
        else []
    )
    if at_random:
        body += literals({"SEED": bench.seed}) + "\n\n"
        ends.append(plain.split)
    if pads:
        body += literals({"VARYING": collate["varying"]}) + "\n\n"
    body += ours(*ends, plain.loaders) + checks(batch) + "\n\n"
    body += ours(plain.main).rstrip("\n") + "\n" + END
    needed = dict.fromkeys(re.findall(r"^ +(?:import|from) (numpy|PIL|pyarrow|safetensors|h5py)\b", body, re.MULTILINE))
    needs = "".join(f", {'Pillow' if name == 'PIL' else name}" for name in needed)
    modules = [name for name in ("functools", "itertools", "os", "sys") if f"{name}." in body]
    imports = "".join(f"import {name}\n" for name in modules)
    return HEAD.format(needs=needs, imports=imports, named="Iterator, Mapping" if pads else "Iterator") + body


def of_files(
    bench: Bench, source: Source, fields: list[dict[str, Json]], size: Any
) -> tuple[Callable[..., Any], str, list[Any], str]:
    """The reader; constants; the functions that read the source's files, the dataset's class last; the table of fields."""
    from dataloader_expert.loaders import plain

    why = unread(source)
    if why is not None:
        raise NotWritten(why)
    named = any(unit.label is not None for unit in source.units[:64])
    held = fields_of(bench, source, fields, named)
    listing = getattr(source, "listing", None)
    places = None if listing is None else arrays_of(source, list(held)) if side_by_side(source) else places_of(source)
    if listing is None or places is None:
        raise NotWritten("splits that share files or spread over many folders")
    reader = reader_of(source)
    constants, parts = reading(source, reader)
    kind: Any = plain.Files
    beside, table = [], ""
    if source.format == "webdataset":
        kind, parts = plain.Shards, parts[:-1]
    elif side_by_side(source):
        kind = plain.Arrays
    elif getattr(source, "annotated", ()):
        if any(field.name in held for field in getattr(source, "partners", ())):
            raise NotWritten("files that have both partners and annotations")
        kind, beside = (
            plain.Annotated,
            [plain_files.partners, plain_files.as_named, plain_files.names_of, plain_files.annotated],
        )
        more, readers, table = tables_of(source)
        if "SIDES" in table:
            beside.insert(0, plain_files.with_box)
        constants |= more
        parts = list(dict.fromkeys([*readers, *parts]))
    elif any(field.name in held for field in getattr(source, "partners", ())):
        kind, beside = plain.Pairs, [plain_files.partners]
        others: set[str] = set(getattr(source, "beside", ())) - {
            file for unit in source.units for _, file, *_ in unit.at
        }
        if any(_below(other, place) for other in others for of in places.values() for place in of):
            raise NotWritten("folders that hold more than samples and their partners")
        readers, table = partners_of(source, held)
        parts = list(dict.fromkeys([*readers, *parts]))
    elif any(unit.samples > 1 for unit in source.units) or not file_each(source):
        kind = plain.Rows
        if HELD * source.bytes > IN_MEMORY * bench.limit_bytes:
            raise NotWritten(f"rows from {source.bytes / 1e9:.2g} GB of files, which it would hold in memory")
    if "COLUMNS" in constants:
        columns = [name for name in held if not (named and name == source.label)]
        constants["COLUMNS"] = stored_names(columns, getattr(source, "members", {}))
    constants |= {"ROOT": str(listing.base.absolute()), "SPLITS": places}
    constants["SUFFIXES"] = {os.path.splitext(unit.file)[1].lower() for unit in source.units}
    used = dict.fromkeys(convert for convert, _ in held.values())
    if used.keys() & {plain.pictures, plain.masks}:
        constants["SIZE"] = None if size is None else tuple(size)
    if kind is plain.Rows:
        constants["LATE"] = {name for name, (convert, _) in held.items() if convert is plain.pictures}
    elif kind is not plain.Arrays:
        constants |= {"SPLIT": ""} if kind is plain.Annotated else {}
        constants |= {"LABEL": source.label if named else None, "ABOVE": class_folder(source) if named else 0}
    by = source.roles.split if source.roles is not None else None
    if by is not None and source.roles is not None and not source.splits:
        if kind not in (plain.Rows, plain.Annotated) or by.field not in held:
            raise NotWritten(f"splits that {by.field!a} names")
        constants |= {"SPLIT": by.field, "SPLIT_NAMES": dict(source.roles.splits)}
    if plain.texts in used:
        used = {plain_files.as_text: None, **used}
    if used.keys() & {plain.times, plain.arrays}:
        used = {plain.numbers: None, **used}
    if plain.masks in used:
        used = {plain.numbers: None, plain_files.nearest: None, **used}
    boxes = {name for name in held if (field := source.field(name)) is not None and has_boxes(field)}
    pixels = boxes & pixel_boxes(source) if kind is plain.Annotated else boxes
    if kind is plain.Annotated:
        constants |= {"BOXES": pixels, "SIZE": None if size is None else tuple(size)}
        beside = [*beside, plain.resized]
    elif size is not None and boxes:
        raise NotWritten("boxes in images of several sizes")
    apart = {plain.Rows: [plain.joined], plain.Arrays: []}
    own = [plain_files.files, *used, plain.column, *apart.get(kind, [plain.of_file]), *beside, kind]
    table += (
        "FIELDS = {\n"
        + "".join(f"    {name!a}: ({convert.__name__}, {how!a}),\n" for name, (convert, how) in held.items())
        + "}\n"
    )
    return reader, literals(constants), [*parts, *own], table


def file_each(source: Source) -> bool:
    return len({unit.file for unit in source.units}) == len(source.units)


def class_folder(source: Source) -> int:
    """How many folders above that of each file its class is called after.

    Raises:
        NotWritten: if that differs, or no folder is.
    """
    labelled = [(Path(unit.file).parts[:-1], unit.label) for unit in source.units if unit.label is not None]
    for above in range(DEEPEST):
        if all(len(folders) > above and folders[-1 - above] == label for folders, label in labelled):
            return above
    raise NotWritten("classes that are not called like the folders of their files")


def arrays_of(source: Source, names: list[str]) -> dict[str, list[str]]:
    """By split the file of each of these fields."""
    found = {unit.split or "": {name: file for name, file, *_ in unit.at} for unit in source.units}
    return {split: [files[name] for name in names] for split, files in found.items()}


def partners_of(source: Source, held: Iterable[str]) -> tuple[list[Any], str]:
    """The readers of a sample's other files, and the table that says where each lies."""
    readers, lines = [], ""
    for field in getattr(source, "partners", ()):
        if field.name not in held:
            continue
        pairs = [(unit.file, file) for unit in source.units for name, file, _ in unit.at if name == field.name]
        rule = rule_of(pairs) if len(pairs) == len(source.units) else None
        if rule is None:
            raise NotWritten(f"samples whose {field.name!a} no one rule finds")
        if field.kind == "audio":
            raise NotWritten("recordings of several files each")
        readers.append(READERS["image-folder" if field.kind in ("mask", "image") else "text"][0])
        lines += f"    {field.name!a}: ({readers[-1].__name__}, {', '.join(map(ascii, rule))}),\n"
    return readers, f"PARTNERS = {{\n{lines}}}\n"


def tables_of(source: Any) -> tuple[dict[str, Any], list[Any], str]:
    """The constants that readers of annotations look up, these readers, and the tables that say what each reads."""
    notes, files = source.notes, [unit.file for unit in source.units]
    if any(name.removesuffix("_2") in RENAMED for name in source.given if name.endswith("_2")):
        raise NotWritten("annotations called like what they annotate")
    if notes.by_line or any(table.nested for table in notes.joined):
        raise NotWritten("objects in lines of text files or in nested lists")
    constants: dict[str, Any] = {}
    parts: list[Any] = []
    tables = beside = ""
    for kind, pairs in notes.each.items():
        if kind not in ANNOTATIONS:
            raise NotWritten("an object in a file beside each sample")
        rule = rule_of(list(pairs.items()))
        if rule is None:
            raise NotWritten("images whose annotations no one rule finds")
        parts.append(ANNOTATIONS[kind])
        beside += f"    {kind!a}: ({ANNOTATIONS[kind].__name__}, {', '.join(map(ascii, rule))}),\n"
    for table in notes.joined:
        folder = os.path.dirname(table.path)
        folder = folder if any(_below(file, folder) for file in files) else ""
        above = next((n for n in range(DEEPEST) if names_alike(table, files, folder, n)), None)
        if above is None:
            raise NotWritten("files that a table names in several ways")
        if table.kind not in ANNOTATIONS:
            raise NotWritten("tables without a header that name files")
        parts.append(ANNOTATIONS[table.kind])
        lists = f"{{{', '.join(map(ascii, sorted(table.lists)))}}}" if table.lists else "set()"
        own = f"{parts[-1].__name__}, {folder!a}, {table.naming!a}, {table.by_stem}, {above}, {lists}"
        tables += f"    {table.path!a}: ({own}),\n"
    sides = {table.path: table.sides for table in notes.joined if table.sides is not None}
    boxes = "".join(
        f"    {path!a}: {(of.how, of.columns, of.dropped, of.kind, of.names, of.one_each)!a},\n"
        for path, of in sides.items()
    )
    needed: list[Any] = []
    for reader in dict.fromkeys(parts):
        looked_up, helped = reading(source, reader)
        constants |= looked_up
        needed += helped
    if "TEXTS" in constants:
        constants["TEXTS"] = tuple(dict.fromkeys((*constants["TEXTS"], *(table.naming for table in notes.joined))))
    shown = f"PARTNERS = {{\n{beside}}}\nTABLES = {{\n{tables}}}\n"
    return constants, needed, shown + (f"SIDES = {{\n{boxes}}}\n" if boxes else "")


def names_alike(table: Table, files: list[str], folder: str, above: int) -> bool:
    """Whether the plain code finds the same rows of a table as were found here, without so many folders of its names."""
    named = {plain_files.as_named(value, above): path for value, path in table.paths.items()}
    found = {}
    for file in files:
        name = next((n for n in plain_files.names_of(Path(file), Path(folder), table.by_stem) if n in named), None)
        if name is not None:
            found[file] = named[name]
    return len(named) == len(table.paths) == len(found) and all(file == path for file, path in found.items())


def rule_of(pairs: list[tuple[str, str]]) -> tuple[dict[str, str], str, str] | None:
    """The partner's folders by the sample's, what ends a sample's name, and what ends its partner's; None: no one rule."""
    folders, ends = dict[str, str](), set()
    for one, other in pairs:
        (*above, name), (*beside, partner) = Path(one).parts, Path(other).parts
        if len(beside) > len(above):
            folders[""] = beside.pop(0)
        folders |= {a: b for a, b in zip(above, beside, strict=False) if a != b}
        stem = Path(name).stem
        alike = len(list(takewhile(lambda both: both[0] == both[1], zip(stem, partner, strict=False))))
        ends.add((stem[alike:], partner[alike:]))
    if len(ends) != 1:
        return None
    [(end, new)] = ends
    for one, other in pairs:
        parts = [folders.get(part, part) for part in ("", *Path(one).parts[:-1])]
        if Path(*parts, Path(one).stem.removesuffix(end) + new) != Path(other):
            return None
    return folders, end, new


def places_of(source: Source) -> dict[str, list[str]] | None:
    """By split the files below the root, or where they are many the folders that hold no other split's files; None: none do."""
    found: dict[str, dict[str, None]] = {}
    for unit in source.units:
        found.setdefault(unit.split or "", {})[unit.file] = None
    every = [file for files in found.values() for file in files]
    if len(set(every)) < len(every):
        return None
    if len(every) <= MOST_PLACES:
        return {split: list(files) for split, files in found.items()}
    for up in (2, 1):  # the folder of the classes' folders, else the files' own
        folders = {s: _outermost({_above(file, up) for file in files}) for s, files in found.items()}
        apart = [
            (a, b) for s, of in folders.items() for t, others in folders.items() if s != t for a in of for b in others
        ]
        if not any(_below(a, b) for a, b in apart) and sum(map(len, folders.values())) <= MOST_PLACES:
            return folders
    return None


def _above(path: str, up: int) -> str:
    parts = path.split("/")[:-1]
    return "/".join(parts[: max(0, len(parts) + 1 - up)])


def _below(path: str, folder: str) -> bool:
    return not folder or path == folder or path.startswith(f"{folder}/")


def _outermost(folders: Iterable[str]) -> list[str]:
    kept: list[str] = []
    for folder in sorted(folders):
        if not any(_below(folder, other) for other in kept):
            kept.append(folder)
    return kept


def fields_of(
    bench: Bench, source: Source, fields: list[dict[str, Json]], named: bool
) -> dict[str, tuple[Callable[..., Any], Any]]:
    """Of each field the function that makes of it what batches hold, and its argument. ``named``: folders are classes."""
    from dataloader_expert.loaders import plain

    label = bench.facts.value(LABEL, {"name": None})["name"]
    annotated = getattr(source, "annotated", ())  # whose missing ones are no arrays
    deep = [m for m in bench.facts.value(MODES, {"modes": {}})["modes"] if m in GREY and m not in ("1", "L", "LA")]
    absent = {fact.at["field"] for fact in bench.facts.all(MISSING) if fact.value} | {f.name for f in annotated}
    held: dict[str, tuple[Callable[..., Any], Any]] = {}
    for f in fields:
        name, stored = f["name"], source.field(f["name"])
        if stored is None:
            if name.endswith("_lengths") and source.field(name.removesuffix("_lengths")) is not None:
                continue  # which padding adds
            raise NotWritten(f"the field {name!a}")
        if name == label and bench.classes:
            if source.classes is None and not named and not all_read(bench):
                raise NotWritten("classes of which only some were seen, as not all samples were read: raise budget_s")
            numbered = source.classes is not None and not named and stored.dtype != "str"
            held[name] = (plain.indices if numbered else plain.classes, list(bench.classes))
        elif f["dtype"] == "str":
            held[name] = (plain.texts, None)
        elif stored.kind == "mask":
            held[name] = (plain.masks, f["dtype"])
        elif stored.kind == "image" and len(f["shape"]) == 4 and f["shape"][1:] != list(stored.shape):
            if deep:
                raise NotWritten(f"images of mode {deep[0]}")
            held[name] = (plain.pictures, "L" if f["shape"][1] == 1 else "RGB")
        elif stored.shape and stored.kind != "time" and (name in absent or len(stored.shape) > 1):
            held[name] = (plain.arrays, (f["dtype"], stored.shape))
        else:
            held[name] = (plain.times if stored.kind == "time" else plain.numbers, f["dtype"])
    return held


def all_read(bench: Bench) -> bool:
    seen = bench.facts.value(SCANNED, {"read": 0, "failed": 0})
    return bool(seen["read"] + seen["failed"] >= bench.source.samples)


def of_reference(bench: Bench) -> str:
    """The function that makes the user's own datasets, each split's under its name; that to train on, where none was asked for, is
    ``train``."""
    from dataloader_expert.sources.reference import Reference

    assert isinstance(bench.source, Reference)
    again = bench.source.again
    if again is None:
        raise NotWritten("names that are not Python identifiers")
    made = dict(again.made)
    if bench.ref.split is None and again.train != "train":
        other = {"another train": made.pop("train")} if "train" in made else {}
        made = {"train": made.pop(again.train), **made, **other}
    shown = "".join(f"        {name!a}: {code},\n" for name, code in made.items())
    said = "Your own datasets." if len(made) > 1 else "Your own dataset; give validation and test theirs here."
    return REFERENCE.format(imported="\n".join(again.imported()), said=said, made=shown)


def checks(batch: dict[str, Json]) -> str:
    """A function that asserts names, dtypes and the fixed part of shapes, as they were measured."""
    lines = []
    for f in batch["fields"]:
        name = place(f["name"], batch["structure"])
        if name is None or not f["shape"] or f["shape"][0] != "B":
            continue
        if f["host"]:
            lines.append(f"assert isinstance({name}, list | tuple)")
            continue
        rest = tuple(f["shape"][1:])
        lines.append(f"assert {name}.dtype == torch.{f['dtype']}, {name}.dtype")
        if None in rest:
            lines.append(f"assert {name}.ndim == {len(f['shape'])}, {name}.shape")
        else:
            lines.append(f"assert tuple({name}.shape[1:]) == {rest!r}, {name}.shape")
    body = "".join(f"    {line}\n" for line in lines or ["assert batch is not None"])
    return f'def check(batch: Any) -> None:\n    """What a batch must be."""\n{body}'
