"""Classes that folders and the names of files tell, and tables that contradict them, or say more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from dataloader_expert.errors import Unreadable, escaped
from dataloader_expert.sources.annotations.record import NAMELESS, folder_of
from dataloader_expert.sources.base import Column, Field, Source, Unit
from dataloader_expert.sources.groups_in_names import classes_in_names
from dataloader_expert.sources.label_names import PARTS, label_by_name
from dataloader_expert.sources.layout import is_part
from dataloader_expert.sources.roles import words
from dataloader_expert.sources.targets import CALLED, same_class

NEARLY_ALL, MOSTLY = 0.95, 0.85
"""The least share of samples whose folder agrees with a column from which the others contradict it; and where both use the same names."""

TAKEN = {"video", "session", "recording", "subject", "patient", "participant"}
"""Last words of columns that say what samples were taken of, however few there are."""


class FolderLabels(Source):
    """Samples that are files: their classes are told by folders, or by the names of the files, unless a table says more."""

    value: str
    """The field that a file becomes."""
    by_folder: bool
    """Whether labels are told by the folders, or by the names of the files."""
    groups: dict[str, str | None]
    """What the folder of each file says of what it was taken of."""
    annotated: tuple[Field, ...]
    """The fields that tables next to the samples give."""
    given: dict[str, Column]
    """Their values."""
    row_of: dict[str, int]
    """Where a sample's values stand in these."""

    def _label_by_name(self, every: bool = False) -> None:
        """Classes that the names of files tell, at least in training: those of a contest's test split are numbers. ``every``: they are
        known to tell them in all splits."""
        own = [unit for unit in self.units if every or unit.split in ("train", None)] or list(self.units)
        found = dict(zip([u.file for u in own], classes_in_names([u.file for u in own]), strict=True))
        names = sorted({name for name in found.values() if name is not None})
        if names and self.value == "image":  # of recordings they are rather who speaks
            others = [unit for unit in self.units if unit.file not in found]
            more = dict(zip([u.file for u in others], classes_in_names([u.file for u in others]), strict=True))
            found |= {path: name if name in names else None for path, name in more.items()}
            self.units = tuple(replace(unit, label=found[unit.file]) for unit in self.units)
            example = next(path for path, name in found.items() if name is not None)
            self.by_folder, self.label, self.classes = True, "label", tuple(names)
            self.label_how = f"guessed from the names of files: {found[example]} in {example.rpartition('/')[2]}"

    def _label_by_column(self) -> None:
        """Where one split has a folder for each class and another a table: the class that the table names."""
        without = [unit.file for unit in self.units if unit.label is None]
        called = {
            number: name for name in self.classes or () for number in (name, *([int(name)] if name.isdecimal() else []))
        }
        for name, column in self.given.items() if without else ():
            told = {unit.file: self._told(column, unit) for unit in self.units}
            if not all(isinstance(value, str | int | float | None) for value in told.values()):
                continue
            told = {path: _first_of(called.get(value, value), self.classes or ()) for path, value in told.items()}
            found = {path: told[path] for path in without if told[path] is not None}
            known = [isinstance(v, str) and v in (self.classes or ()) for v in found.values()]
            if known and sum(known) >= NEARLY_ALL * len(known):  # the others are mistakes, which checks of labels tell
                named = {path: str(value) for path, value in found.items()}
                self.units = tuple(replace(unit, label=named.get(unit.file, unit.label)) for unit in self.units)
                self.classes = tuple(sorted({*(self.classes or ()), *map(str, found.values())}))
                if all(told[unit.file] in (None, unit.label) for unit in self.units):  # it says nothing else
                    self._drop_column(name)
                return

    def _told(self, column: Column, unit: Unit) -> Any:
        """What a column says of a sample; None if nothing."""
        at = self.row_of[unit.file]
        value: Any = None if column.nulls is not None and column.nulls[at] else column.values[at]
        return value.item() if value is not None and getattr(value, "ndim", None) == 0 else value

    def _drop_column(self, name: str) -> None:
        self.given = {n: c for n, c in self.given.items() if n != name}
        self.annotated = tuple(f for f in self.annotated if f.name != name)
        self.with_nulls -= {name}

    def _drop_numbers_of_classes(self) -> None:
        """Columns that say the class of the folder once more, by its number in their order or by its name, are no fields."""
        labels = [unit.label for unit in self.units]
        for name, column in list(self.given.items()):
            if (NAMELESS.fullmatch(name) or set(words(name)) & CALLED) and same_class(labels, column):
                self._drop_column(name)

    def _drop_folder_labels(self, groups: bool = False) -> None:
        """``groups``: they say what samples were taken of."""
        if groups:
            self.groups = {folder_of(unit.file): unit.label for unit in self.units}
        self.units = tuple(replace(unit, label=None) for unit in self.units)
        self.by_folder, self.label, self.classes = False, None, None
        if "label_2" in self.given:  # which gave way to the folders
            self.given = {"label" if n == "label_2" else n: column for n, column in self.given.items()}
            self.annotated = tuple(replace(f, name="label") if f.name == "label_2" else f for f in self.annotated)
            self.with_nulls = frozenset("label" if name == "label_2" else name for name in self.with_nulls)

    def _no_speakers(self, said: Collection[str]) -> None:
        """Folders of what is transcribed are speakers, books, chapters or pages, by their numbers: no classes. ``said``: the fields with
        what a recording or an image says."""
        numbered = all(any(c.isdigit() for c in name) for name in self.classes or ())
        told = self.value == "audio" and any(f.kind == "text" for f in self.annotated)
        if numbered and (told or said):
            self._drop_folder_labels(groups=True)

    def _no_groups(self) -> None:
        """Folders that a table calls a person, a site, a recording, a year or a fold are no classes."""
        role = None if self.roles is None else self.roles.group
        dated = [name for name in self.given if {*words(name)[-1:]} & {*PARTS, *TAKEN}]
        for name in [*([] if role is None else [role.field]), *dated]:
            if self.by_folder and name in self.given and self._are_its_values(name):
                self._drop_folder_labels()

    def _are_its_values(self, name: str) -> bool:
        """Whether each folder belongs to one value of the column, and each value to one folder."""
        values = self.given[name].values
        both = {(unit.label, str(values[self.row_of[unit.file]])) for unit in self.units}
        return len(both) == len({folder for folder, _ in both}) == len({value for _, value in both})

    def _prefer_a_named_column(self, groups: bool) -> None:
        """A column that is called like a label says more than folders do that are not its values by other names: parts of a
        download, folds, documents. Folders that are called parts say nothing. ``groups``: a table says something of each folder, which
        holds one thing each."""
        if all(map(is_part, self.classes or ())):
            self._drop_folder_labels()
            return
        scalar = [f.name.removesuffix("_2") for f in self.annotated if not f.shape and "float" not in f.dtype]
        name = label_by_name(scalar)[0]
        name = f"{name}_2" if name is not None and name not in self.given else name
        if name is None and all(map(str.isdigit, self.classes or ())):  # shards, if a list says more of each file
            nameless = [n for n in scalar if NAMELESS.fullmatch(n)]
            able = len(nameless) == 1 and (self._may_be_class(nameless[0]) or self._numbers_each(nameless[0]))
            name = nameless[0] if able else None
        if name is None or name not in self.given:
            return
        values = [self.given[name].values[self.row_of[unit.file]] for unit in self.units]
        both = {(unit.label, str(value)) for unit, value in zip(self.units, values, strict=True) if value is not None}
        folders, told = {str(folder) for folder, _ in both}, {value for _, value in both}
        numbered = all(map(str.isdigit, folders)) and not any(map(str.isdigit, told))
        odd = self._contradicted([None if value is None else str(value) for value in values])
        self.problems += [
            Unreadable(
                "label-conflict",
                f"its folder says {escaped(folder, 40)}, {escaped(name)} {escaped(value, 40)}",
                file=path,
            )
            for path, folder, value in odd
        ]
        if both and not odd and (numbered or not len(both) == len(folders) == len(told)):
            self._drop_folder_labels(groups)

    def _contradicted(self, values: list[str | None]) -> list[tuple[str, str, str]]:
        """Path, folder and value of the few samples whose folder and value do not belong together as those of nearly all do."""
        pairs = Counter((str(u.label), v) for u, v in zip(self.units, values, strict=True) if v is not None)
        meant: dict[str, str] = {}
        for (folder, value), _ in pairs.most_common():
            if folder not in meant and value not in meant.values():
                meant[folder] = value
        right = sum(n for (folder, value), n in pairs.items() if meant.get(folder) == value)
        same = all(folder.casefold() == value.casefold() for folder, value in meant.items())
        least = MOSTLY if same else NEARLY_ALL  # by the same names, both say the same thing
        if not pairs or right == pairs.total() or right < least * pairs.total() or len(meant) < 2:
            return []
        return [
            (unit.file, str(unit.label), value)
            for unit, value in zip(self.units, values, strict=True)
            if value is not None and meant.get(str(unit.label)) != value
        ]

    def _may_be_class(self, name: str) -> bool:
        """Whether the field has few values, and no fractions among them."""
        values = self.given[name].values
        if getattr(values, "ndim", 1) != 1 or (hasattr(values, "dtype") and values.dtype.kind not in "iub"):
            return False
        plain = values.tolist() if hasattr(values, "tolist") else values
        if not all(isinstance(v, str | int | None) for v in plain):
            return False
        return 2 <= len({v for v in plain if v is not None}) <= max(2, len(self.units) // 10)

    def _numbers_each(self, name: str) -> bool:
        """Whether the field has a whole number for each sample, as of a word in a lexicon."""
        column = self.given[name]
        whole = hasattr(column.values, "dtype") and column.values.dtype.kind in "iu" and column.values.ndim == 1
        return whole and (column.nulls is None or not bool(column.nulls.any()))


def _first_of(value: Any, classes: Collection[str]) -> Any:
    """The class that a text begins with, as ``n01440764 12 30 200 180`` of a class and a box; else the value itself."""
    first = value.split(None, 1)[:1] if isinstance(value, str) else []
    return first[0] if value not in classes and first and first[0] in classes else value
