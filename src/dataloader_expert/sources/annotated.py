"""What tables next to the samples say of them: fields, label, split and classes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from dataloader_expert.errors import escaped
from dataloader_expert.sources.annotations.record import FOLDERS, NAMELESS, Annotations, block_of, described
from dataloader_expert.sources.arrays import has_boxes
from dataloader_expert.sources.arrow_columns import listed
from dataloader_expert.sources.base import PLACED, Block, Column, Field, Roles
from dataloader_expert.sources.folder_labels import TAKEN, FolderLabels
from dataloader_expert.sources.groups_in_names import classes_in_names
from dataloader_expert.sources.label_columns import flags, said_of
from dataloader_expert.sources.layout import split_in_name
from dataloader_expert.sources.roles import RANKS, SPLIT_NAMES, as_split, find_roles, words
from dataloader_expert.sources.table_fields import MAX_CLASSES
from dataloader_expert.sources.table_label import find_label
from dataloader_expert.sources.targets import (
    KINDS,
    beside_attributes,
    covering,
    lacking,
    listed_labels,
    one_to_one,
    the_only_one,
)

GUESSED = "guessed"
ONE_CATEGORY = f"{GUESSED}: the one category"
"""How begins what is said of a label that no name tells."""


class Annotated(FolderLabels):
    """Samples that are files, with what tables next to them say of each."""

    partners: tuple[Field, ...]
    """The fields that partners become."""
    beside: frozenset[str]
    """Paths of files that are not samples but belong to one."""
    unread: dict[str, str]
    """Partners of which only their existence is known."""
    several: str | None
    """The field of vectors that was made of lists of labels in the cells of a column."""
    may_be_empty: frozenset[str]

    def _annotate(self, found: Annotations) -> None:
        """Takes over what tables say: fields, and where folders do not name them, label and split."""
        self.problems += found.problems
        self.beside |= frozenset(found.tables)
        if not found.rows:
            return
        columns = found.columns([unit.file for unit in self.units])
        columns = {name: column for name, column in columns.items() if _says_something(column)}
        if not columns:
            return
        taken = {self.value, "sample_rate", *(f.name for f in self.partners), *(["label"] if self.by_folder else [])}
        self.given = {f"{name}_2" if name in taken else name: column for name, column in columns.items()}
        self.row_of = {unit.file: i for i, unit in enumerate(self.units)}
        said = {f"{name}_2" if name in taken else name for name in found.said}
        self.annotated = _with_texts(described(self.given), said)
        self.with_nulls = frozenset(n for n, column in self.given.items() if column.nulls is not None)
        self.may_be_empty = frozenset(found.tables if found.negatives else found.may_be_empty)
        self.objects, self.corners = found.objects, found.corners
        if self.objects is not None:
            of = self.objects.field
            self.annotated = tuple(replace(f, kind="sequence") if f.name == of else f for f in self.annotated)
        block = block_of(self.given, len(self.units))
        self._divide_by_column()
        named = any(unit.split is not None for unit in self.units)
        self.roles = find_roles([block], self.annotated, None, named, len(self.units))
        if self.by_folder:
            self._label_by_column()
            self._prefer_a_named_column(any(table.kind == FOLDERS for table in found.joined))
            self._no_speakers(said)
            self._no_groups()
        if self.by_folder:
            self._drop_numbers_of_classes()
            for table in found.joined:
                if table.kind == FOLDERS:
                    self.unread[table.path] = "says something of each class, and nothing of a sample"
                    for name in table.fields:
                        self._drop_column(name)
        if found.uneven:
            self.given = {name: column for name, column in self.given.items() if not NAMELESS.fullmatch(name)}
            self.annotated = _with_texts(described(self.given), said)
        if self.label is None:
            self._label_by_names_and_numbers()
        if self.label is None:
            self._label_from(block_of(self.given, len(self.units)), found, named)
        self._withhold()
        self.of_few = _of_few(found, len(self.units))
        if any(f.kind == "text" for f in self.annotated):
            self.modality = "multimodal"
        if self.value == "image" and any(map(has_boxes, self.annotated)):
            self.modality = "detection"

    def _divide_by_column(self) -> None:
        """Takes the splits that a column names where it divides the samples of the folder of one split, such as the validation that is cut
        from a folder for development."""
        splits = {unit.split for unit in self.units}
        for name, column in self.given.items() if splits - {None} else ():
            if not {*words(name)} & SPLIT_NAMES:
                continue
            told = {unit.file: self._told(column, unit) for unit in self.units}
            if not all(v is None or (isinstance(v, str) and split_in_name(v)) for v in told.values()):
                continue
            called = {path: None if value is None else split_in_name(value) for path, value in told.items()}
            within = {split: {called[u.file] for u in self.units if u.split == split} for split in splits}
            if any(len(of) > 1 and None not in of for of in within.values()):
                self.units = tuple(replace(unit, split=called[unit.file] or unit.split) for unit in self.units)
                self._drop_column(name)
                return

    def _withhold(self) -> None:
        """Notes the columns that a whole split lacks, such as the targets of a contest's test split; unless it has the label."""
        absent_in = lacking(self.given, [unit.split for unit in self.units])
        absent_in = {
            split: names for split, names in absent_in.items() if split != "train"
        }  # nothing is withheld there
        absent = frozenset[str]().union(*absent_in.values())
        if self.by_folder and any(
            all(unit.label is None for unit in self.units if unit.split == split) for split in absent_in
        ):
            absent |= {"label"}
        self.withheld = absent
        if self.label is None or self.label in absent:
            told = {split: names - {self.label} for split, names in absent_in.items()}
            self.lacking = {
                s: self.lacking.get(s, frozenset()) | told.get(s, frozenset()) for s in {*self.lacking, *told}
            }

    def _label_from(self, block: Block, found: Annotations, named: bool) -> None:
        """The label among the columns of tables, the roles of the others, and its classes if they are texts. ``named``: folders or
        lists name the splits."""
        split = self.roles.split.field if self.roles is not None and self.roles.split is not None else None
        most = covering(self.given, [unit.split for unit in self.units])
        usual = most or self.given
        self.label, how = find_label([block_of(usual, len(self.units))], split)
        guessed = PLACED in how or how.startswith("guessed")
        if self._several_labels([*usual] if self.label is None or guessed else [self.label]):
            return
        if (self.label is None or guessed) and len(usual) < len(self.given):  # few may be labelled
            rare, why = find_label([block], split)
            self.label, how = (self.label, how) if rare is None or PLACED in why else (rare, why)
        others = beside_attributes(usual)
        if PLACED in how and self.label not in others:
            self.label, how = find_label([block_of({n: usual[n] for n in others}, len(self.units))], split)
        apart = [name for name in self.given if name != split]
        nameless = [name for name in apart if NAMELESS.fullmatch(name)]
        alone = len(nameless) == 1 or (nameless and isinstance(self.given[nameless[0]].values, list))
        if len(nameless) == len(apart) and alone and self._may_be_class(nameless[0]):  # numbers may be a box
            self.label, how = nameless[0], "guessed: the first column behind the names"
        if self.label is None or PLACED in how:
            kind, why = self._only_category(usual)
            if self.label is None or {*words(kind or "")[-1:]} & KINDS:  # whose name says more than a place
                self.label, how = kind, why
        if self.label is None and self.objects is None and not any(f.kind == "text" for f in self.annotated):
            aside = {role["field"] for role in (self.roles or Roles()).listed()}
            only = the_only_one([f for f in self.annotated if f.name in usual], usual, aside)
            self.label, how = (
                (only, "guessed: the one column that says something of each file") if only else (None, how)
            )
        guessed = PLACED in how or how.startswith("guessed")
        if self.label is not None and guessed and any(f.kind == "mask" for f in self.partners):
            self.label, how = None, "no field is named like a label, and images have masks; pass label="
        if (
            self.label is not None
            and how == ONE_CATEGORY
            and any(has_boxes(f) and f.shape != (1, 4) for f in self.annotated)
        ):
            self.label, how = None, "no field is named like a label, and images have boxes; pass label="
        if self.label is not None and found.said and how.startswith(GUESSED):
            self.label, how = None, "no field is named like a label, and a text says what is there; pass label="
        if self.label is not None and PLACED in how and self._one_of_many(self.label):
            self.label, how = None, "several fields have the same two values: pass label= for one of them"
        if not most and (PLACED in how or how.startswith(GUESSED)):
            self.label, how = None, "tables name few of the files, and no field is named like a label; pass label="
        flagged = flags([self.given if most else {}], uncertain=True)
        asked = self._asked()
        if asked and flagged is not None and not asked & {*flagged.names}:
            flagged = None  # a test split has these beside what is to be predicted
        if len(asked) == 1 and (self.label is None or guessed):
            numbers = [
                f.name for f in self.annotated if f.name in asked and not f.shape and f.kind in ("number", "boolean")
            ]
            self.label, how = (
                (numbers[0], "the one column that only the training split has") if numbers else (self.label, how)
            )
        several = flagged.names if flagged is not None else ()
        if flagged and (self.label is None or guessed or (self.label in several and ";" in how)):
            self.label, self.label_columns, how = None, flagged, said_of(flagged)
        table = next((t.path for t in found.joined if self.label in t.fields), found.tables[0])
        self.label_how = f"{how.partition('; pass')[0]}, in {escaped(table)}" if self.label else how
        self.roles = find_roles([block], self.annotated, self.label, named, len(self.units))
        self.annotated = tuple(
            Field(f.name, "category", f.dtype, f.shape)
            if f.name in (self.label, *(self.label_columns.names if self.label_columns else ())) and not f.shape
            else f
            for f in self.annotated
        )
        texts = {v for v in self.given[self.label].values if isinstance(v, str)} if self.label is not None else set()
        if 0 < len(texts) <= MAX_CLASSES:  # as names of folders are
            self.classes = tuple(sorted(texts))

    def _asked(self) -> set[str]:
        """The columns that are to be predicted: those that all splits but that for training lack, beside others that they have."""
        absent = lacking(self.given, [unit.split for unit in self.units])
        others = {unit.split for unit in self.units} - {"train", None}
        found = {*frozenset.intersection(*(absent.get(split, frozenset()) for split in others))} if others else set()
        return found if found < self.given.keys() else set()

    def _several_labels(self, able: Sequence[str]) -> bool:
        """Takes the column of these whose cells list several labels for vectors of 0 and 1, and these for classes."""
        for name in able:
            column = self.given[name]
            told = listed_labels(name, column) if self.objects is None else None
            if told is not None:
                names, vectors = told
                self.given[name], self.classes, self.several = Column(vectors, column.nulls), tuple(names), name
                self.annotated = tuple(described(self.given))
                self.label, self.label_how = (
                    None,
                    f"each cell of {escaped(name)} lists the labels of a file; pass label=",
                )
                return True
        return False

    def _one_of_many(self, name: str) -> bool:
        """Whether other fields have the same two values, as the attributes of faces: a sample has several labels."""
        told = {
            n: {*c.values.tolist()} for n, c in self.given.items() if hasattr(c.values, "tolist") and c.values.ndim == 1
        }
        return name in told and len(told[name]) == 2 and sum(values == told[name] for values in told.values()) > 2

    def split_by(self, name: str) -> bool:
        column = self.given.get(name) if self.annotated else None
        if column is None or column.values is None or getattr(column.values, "ndim", 1) != 1:
            return False
        values = column.values.tolist() if hasattr(column.values, "tolist") else column.values
        if not all(isinstance(v, str | int | float | None) for v in values) or len(set(values)) > MAX_CLASSES:
            return False
        role, names = as_split(name, values)
        self.units = tuple(replace(unit, split=None) for unit in self.units)
        if self.label == name:
            self.label, self.label_how, self.classes = None, "its field names the splits; pass label=", None
        self.roles = replace(self.roles or Roles(), split=role, splits=names)
        return True

    def _only_category(self, among: Collection[str]) -> tuple[str | None, str]:
        """The one field of a table ``among`` these that may be a class."""
        assert self.roles is not None
        others = {role["field"] for role in self.roles.listed()}
        able = beside_attributes(f.name for f in self.annotated if f.name in among)
        found = [
            f.name
            for f in self.annotated
            if f.name in able
            and f.kind == "category"
            and not f.shape
            and f.name not in others
            and not {*words(f.name)[-1:]} & TAKEN
            and self._may_be_class(f.name)
        ]
        if len(found) == 1:
            return found[0], ONE_CATEGORY
        if (finest := self._finest_rank(found)) is not None:
            return finest, f"guessed: the finest of {listed(found)}, each of which implies the next"
        kinds = [name for name in found if words(name)[-1:] and words(name)[-1] in KINDS]
        if len(kinds) == 1:
            return kinds[0], "guessed by its name"
        return None, "no field is named like a label; pass label="

    def _finest_rank(self, names: Sequence[str]) -> str | None:
        """Of several columns called by ranks of one order, such as variant, family and manufacturer, the one that says all others."""
        if len(names) < 2 or not all({*words(name)} & (RANKS | {"family", "class"}) for name in names):
            return None
        told = {name: list(map(str, self.given[name].values)) for name in names}
        finest = max(names, key=lambda name: len({*told[name]}))
        nested = all(len({*zip(told[finest], of, strict=True)}) == len({*told[finest]}) for of in told.values())
        return finest if nested else None

    def _label_by_names_and_numbers(self) -> None:
        """Classes that the names of files tell, where a column without a name numbers them: two sources say the same."""
        names = classes_in_names([unit.file for unit in self.units])
        if self.value != "image" or None in names:
            return
        again = [n for n, column in self.given.items() if NAMELESS.fullmatch(n) and one_to_one(names, column)]
        if again:
            self._label_by_name(every=True)
            self.label_how = f"from the file names, such as {names[0]}; {listed(again)} of a table holds their numbers"
            for name in again:
                self._drop_column(name)


def _with_texts(fields: Sequence[Field], said: Collection[str]) -> tuple[Field, ...]:
    """The fields, those in ``said`` as texts, however few words they have."""
    texts = [f.name for f in fields if f.name in said and f.dtype == "str" and not f.shape]
    return tuple(replace(f, kind="text") if f.name in texts else f for f in fields)


def _of_few(found: Annotations, samples: int) -> frozenset[str]:
    """The fields that tables give of which no row names half of the samples."""
    named: dict[str, set[str]] = {}
    for table in found.joined:
        for name in table.fields:
            named.setdefault(name, set()).update(table.paths.values())
    return frozenset(name for name, paths in named.items() if 2 * len(paths) < samples)


def _says_something(column: Column) -> bool:
    """Whether any sample has a value: a table may be of other files too."""
    if hasattr(column.values, "dtype"):
        return column.nulls is None or not bool(column.nulls.all())
    return any(value is not None for value in column.values)
