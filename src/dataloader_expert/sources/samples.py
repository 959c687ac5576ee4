"""Sources whose samples are files, alone or with partners: folders of images, audio or texts, with splits and classes as folders."""

from __future__ import annotations

import codecs
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from dataloader_expert.errors import Aside, RequestError, Unreadable, escaped
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.annotations.reading import annotations_of
from dataloader_expert.sources.annotations.record import FOLDERS, NAMELESS, Annotations, block_of, described, folder_of
from dataloader_expert.sources.arrays import has_boxes
from dataloader_expert.sources.arrow_columns import listed
from dataloader_expert.sources.base import FOLDER, PLACED, Block, Column, Field, Role, Roles, Source, Unit
from dataloader_expert.sources.events import with_events
from dataloader_expert.sources.files import Entry, Listing
from dataloader_expert.sources.further import with_maps
from dataloader_expert.sources.label_columns import flags, said_of
from dataloader_expert.sources.layout import (
    BY_FOLDER,
    PARTS,
    beside_folders,
    folders_of,
    in_aside,
    is_part,
    label_by_name,
    split_in_name,
)
from dataloader_expert.sources.levels import numbered_alike, numbered_anew
from dataloader_expert.sources.magic import of_single_bytes, sniff
from dataloader_expert.sources.name_codes import codes_in_names
from dataloader_expert.sources.no_classes import against_classes, are_repeats
from dataloader_expert.sources.packed import IN_UTF_16
from dataloader_expert.sources.pairing import READ, Pairing, pair
from dataloader_expert.sources.roles import (
    GROUP_WORDS,
    RANKS,
    SPLIT_NAMES,
    as_split,
    classes_in_names,
    find_roles,
    group_in_names,
    words,
)
from dataloader_expert.sources.scenes import same_scenes, with_scenes
from dataloader_expert.sources.table_fields import MAX_CLASSES
from dataloader_expert.sources.table_label import find_label
from dataloader_expert.sources.targets import (
    CALLED,
    KINDS,
    beside_attributes,
    covering,
    lacking,
    listed_labels,
    one_to_one,
    same_class,
    the_only_one,
)
from dataloader_expert.sources.views import several_views

T = TypeVar("T")
MOST_PARTS = 8
"""The most files of a folder that make one thing, such as a song; more folders are as likely each of another one."""
MOST_BANDS = 16
"""The same, of files called after their folder."""
_PART = re.compile(r"[A-Za-z]{3,}(?:[_-][A-Za-z]+)*")
_BAND = re.compile(r"[A-Za-z]+\d{0,2}[A-Za-z]?(?:[_-][A-Za-z]+\d{0,2})*")
NEARLY_ALL = 0.95
"""The least share of samples whose folder agrees with a column from which the others contradict it."""
GUESSED = "guessed"
"""How begins what is said of a label that no name tells."""
LEVELS = 2
"""Values of a mask of two classes: a JPEG that holds no more was compressed without loss to them."""


class FileSamples(Source):
    """One sample per file, with its partners. A member defines a file's value: ``value`` and ``decode_file``."""

    value = "data"
    paired = True
    """Whether other files may belong to a sample, such as its mask."""

    def __init__(self, listing: Listing, ref: SourceRef, entries: list[Entry]) -> None:
        super().__init__()
        self.listing = listing
        if not entries:
            raise RequestError("format-unknown", f"no {self.format} files were found; pass format= or another folder")
        notes = Annotations() if listing.single else annotations_of(listing, entries)
        tables = {*notes.tables}
        others = [entry for entry in listing.entries if entry.path not in tables]
        alone = listing.single or not self.paired
        pairing = Pairing(entries) if alone else pair(others, self.kinds)
        if self.value == "image" and not alone:
            pairing = with_scenes(pairing, listing)
        if self.value == "audio" and not alone:
            pairing = with_events(pairing, listing)
        entries = self.own(pairing.samples)
        if not entries:
            raise RequestError(
                "format-unknown", f"all {self.format} files belong to others: pass the folder that holds the samples"
            )
        further = {name: {*of.values()} - notes.rows.keys() for name, of in notes.further.items()}
        entries = [e for e in entries if not any(e.path in of for of in further.values())]
        maps: set[str] = set()
        if self.value == "image":
            pairing, maps = with_maps(pairing, notes.further, listing, [e.path for e in entries])
            further = {name: of for name, of in further.items() if name not in maps}
        strays = beside_folders([e.path for e in entries]) - notes.rows.keys() - notes.splits.keys()
        entries = [e for e in entries if e.path not in strays]
        text = "lies next to the folders of all other samples: not read as a sample"
        self.problems += [Aside("sample", text, file=path) for path in sorted(strays)]
        paths = [e.path for e in entries]
        of_folders = folders_of(paths)
        set_aside = {
            p
            for p, label in zip(paths, of_folders.labels, strict=True)
            if of_folders.names and label is None and in_aside(p)
        }
        if set_aside:
            entries = [entry for entry in entries if entry.path not in set_aside]
            paths = [entry.path for entry in entries]
            of_folders = folders_of(paths)
        splits, labels, names = of_folders.splits, of_folders.labels, of_folders.names
        if listing.single and len(entries) == 1:
            splits = [None]
        splits = [_listed_split(split, notes.splits.get(path)) for split, path in zip(splits, paths, strict=True)]
        self.problems += pairing.problems
        self.beside = frozenset(pairing.beside)
        """Paths of files that are not samples but belong to one."""
        kinds = {name: kind for name, kind in pairing.fields.items() if kind in READ}
        self.partners = tuple(
            Field(n, "text", "str")
            if k == "text"
            else Field(n, "image" if n in pairing.pictures else "mask", "uint8", (None, None))
            for n, k in kinds.items()
        )
        """The fields that partners become."""
        scenes = any(f.kind in ("mask", "image") for f in self.partners) and _apart(splits, labels)
        told = any(f.kind == "text" for f in self.partners)
        spoken = told and (self.value == "audio" or (self.value == "image" and names != [] and are_repeats(names)))
        together = _parts_of_each(paths, labels)
        self.groups = dict(zip((folder_of(path) for path in paths), of_folders.groups, strict=True))
        """What the folder of each file says of what it was taken of."""
        against = against_classes(paths, splits, labels, self.value) if names else None
        if names and (scenes or maps or spoken or together or against or self._are_groups(names, notes)):
            # scenes of which a table pairs images with maps, cities that one split alone has; who speaks what is transcribed; clips, and patients with their masks
            if against is None or against.groups:
                self.groups = dict(zip((folder_of(path) for path in paths), labels, strict=True))
            labels, names = [None] * len(labels), []
        if notes.class_of_clip:
            self.groups = {folder: folder.rpartition("/")[2] for folder in map(folder_of, paths)}
            labels = [notes.class_of_clip.get(folder_of(path)) for path in paths]
            names = sorted({*notes.class_of_clip.values()}, key=lambda name: (name.isdecimal() and len(name), name))
        only = "files accompany the samples; only their presence was checked, not their contents"
        self.unread = {
            name: f"{kind} {only}".removeprefix(f"{name} ") for name, kind in pairing.fields.items() if kind not in READ
        }
        """Partners of which only their existence is known."""
        self.unread |= {
            name: f"{_how_many(files, len(entries))}; they are not read" for name, files in pairing.partial.items()
        }
        for name, n in Counter(pairing.further.values()).items():
            several = "more for samples that already have one; only the first is read"
            several = several if name in kinds else "files named after samples; none is read"
            self.unread[f"further {name}"] = f"{n} {several}"
        for name, folders in pairing.without.items():
            which = f"{', '.join(map(escaped, folders[:3]))}{f' and {len(folders) - 3} more' * (len(folders) > 3)}"
            self.unread[f"{name} of some folders"] = f"no sample of {which} has one"
        for name, files in pairing.streams.items():
            self.unread[name] = f"{len(files):,} files beside the samples; they are not read"
        if against is not None and against.why is not None:
            self.unread["folders"] = f"{listed(of_folders.names)} {against.why}"
        if together:
            text = "belong together, but each is read as its own sample"
            self.unread["parts"] = f"each folder holds files of the same names that {text}: {listed(together)}"
        if names and self.value == "image" and not kinds and same_scenes(paths, labels, listing):
            text = f"{' and '.join(map(escaped, names))} hold images with the same names that show the same scenes: read as classes, not as pairs"
            self.unread["of pairs"] = text
        if (
            not names
            and not together
            and self.value in ("image", "audio")
            and (views := several_views(paths)) is not None
        ):
            self.unread.setdefault("views", views)
        if set_aside:
            aside = min(set_aside).rsplit("/", 2)[-2]
            self.unread[aside] = f"a folder with this name is not a class: its {len(set_aside):,} files are not read"
        if notes.folds:
            self.unread["folds"] = notes.folds
        self.unread |= dict.fromkeys(
            notes.of_pairs, "its rows name several samples each: pass it as the source to read a row as a sample"
        )
        text = (
            "further files of the rows of a table, which are not read: a sample is the file that another column names"
        )
        self.unread |= {name: f"names {len(of):,} {text}" for name, of in sorted(further.items()) if of - self.beside}
        if notes.outlines:
            self.unread["outlines"] = "outlines of objects are read as the boxes around them"
        if notes.key_points:
            self.unread["keypoints"] = "keypoints after the boxes in label files are not read"
        if any(f.kind == "text" for f in self.partners):
            self.modality = "multimodal"
        beside = {
            path: tuple(
                (name, entry.path, entry.size)
                for name, entry in found.items()
                if name in kinds and entry.kind == kinds[name]
            )
            for path, found in pairing.partners.items()
        }
        self.units = tuple(
            Unit(i, e.path, i, 1, e.size + sum(size for *_, size in at), split, label, at)
            for i, (e, split, label, at) in enumerate(
                (e, split, label, beside.get(e.path, ()))
                for e, split, label in zip(entries, splits, labels, strict=True)
            )
        )
        self.partners = tuple(self._described(f) if f.kind in ("mask", "image") else f for f in self.partners)
        self.lacking = without_partners(self.units)
        self.media = self.value if self.value in ("image", "audio") else None
        self.files, self.bytes = len(entries), sum(e.size for e in entries)
        self.sharding = "one file per sample"
        self.by_folder = bool(names)
        """Whether labels are told by the folders, or by the names of the files."""
        if names:
            by_lists = "from the lists of splits, which name each clip with its class"
            self.label, self.label_how = "label", by_lists if notes.class_of_clip else BY_FOLDER
            self.classes = tuple(names)
        self.annotated: tuple[Field, ...] = ()
        """The fields that tables next to the samples give."""
        self.sizes = notes.sizes
        """Width and height of images, as annotations say."""
        self.notes = replace(notes, rows={}, problems=[], sizes={})
        """Where they come from."""
        self.dialects = {table.path: table.dialect for table in notes.joined if table.dialect is not None}
        self.given: dict[str, Column] = {}
        """Their values."""
        self.row_of: dict[str, int] = {}
        """Where a sample's values stand in these."""
        self.several: str | None = None
        """The field of vectors that was made of lists of labels in the cells of a column."""
        self.may_be_empty: frozenset[str] = frozenset()
        self._annotate(notes)
        if self.label is None and not self.annotated:
            self._label_by_name()
        if self.label is None and not self.partners and self.given.keys() <= self.of_few:
            codes = codes_in_names([unit.file for unit in self.units])
            how = self.label_how.removesuffix("; pass label=")
            self.label_how = self.label_how if codes is None else f"{how}; {codes}"
        self._group_by_folder()
        by_column = self.roles is not None and self.roles.split is not None
        if (by_column or len(self.splits) > 1) and (self.roles is None or self.roles.group is None):
            group, parts = group_in_names([u.file for u in self.units], [u.label for u in self.units])
            if group is not None:
                self.roles = replace(self.roles or Roles(), group=group, name_parts=parts)

    def own(self, entries: list[Entry]) -> list[Entry]:
        """Those of the files that are samples."""
        return entries

    def _are_groups(self, names: Sequence[str], found: Annotations) -> bool:
        """Whether class folders are rather patients or clips: those of images with masks that are numbered alike, or that the lists of
        splits name."""
        masks = any(f.kind == "mask" for f in self.partners)
        clips = found.clips and sum(name in found.clips for name in names) >= NEARLY_ALL * len(names)
        return masks and bool(clips or (len(names) > LEVELS and numbered_alike(names)))

    def _group_by_folder(self) -> None:
        """Takes what folders were taken of for the group, where no column says it."""
        groups = {folder: name for folder, name in self.groups.items() if name is not None}
        groups = numbered_anew(groups, [(unit.file, unit.split) for unit in self.units])
        if not groups or len({*groups.values()}) < LEVELS or (self.roles is not None and self.roles.group is not None):
            return
        if self.label in self.given and self._says_the_label(groups):
            return
        name = groups[min(groups)]
        role = Role(FOLDER, f"by the folders, such as {name}", bool({*words(name)} & GROUP_WORDS))
        self.roles = replace(self.roles or Roles(), group=role, folders=groups)

    def _says_the_label(self, groups: Mapping[str, str]) -> bool:
        """Whether each folder is that of one class, as a table names it: a number for each of its categories."""
        values = self.given[str(self.label)].values
        both = {(groups.get(folder_of(unit.file)), str(values[self.row_of[unit.file]])) for unit in self.units}
        return len(both) == len({folder for folder, _ in both}) == len({value for _, value in both})

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
        nameless = [name for name in self.given if NAMELESS.fullmatch(name)]
        alone = len(nameless) == 1 or (nameless and isinstance(self.given[nameless[0]].values, list))
        if len(nameless) == len(self.given) and alone and self._may_be_class(nameless[0]):  # numbers may be a box
            self.label, how = nameless[0], "guessed: the first column behind the names"
        if self.label is None:
            self.label, how = self._only_category(usual)
        if self.label is None and self.objects is None and not any(f.kind == "text" for f in self.annotated):
            aside = {role["field"] for role in (self.roles or Roles()).listed()}
            only = the_only_one([f for f in self.annotated if f.name in usual], usual, aside)
            self.label, how = (
                (only, "guessed: the one column that says something of each file") if only else (None, how)
            )
        guessed = PLACED in how or how.startswith("guessed")
        if self.label is not None and guessed and any(f.kind == "mask" for f in self.partners):
            self.label, how = None, "no field is named like a label, and images have masks; pass label="
        if self.label is not None and found.said and how.startswith(GUESSED):
            self.label, how = None, "no field is named like a label, and a text says what is there; pass label="
        if self.label is not None and PLACED in how and self._one_of_many(self.label):
            self.label, how = None, "several fields have the same two values: pass label= for one of them"
        if not most and (PLACED in how or how.startswith(GUESSED)):
            self.label, how = None, "tables name few of the files, and no field is named like a label; pass label="
        flagged = flags([self.given if most else {}], uncertain=True)
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
            and self._may_be_class(f.name)
        ]
        if len(found) == 1:
            return found[0], "guessed: the one category"
        if (finest := self._finest_rank(found)) is not None:
            return finest, f"guessed: the finest of {listed(found)}, each of which implies the next"
        kinds = [name for name in found if words(name)[-1:] and words(name)[-1] in KINDS]
        if len(kinds) == 1:
            return kinds[0], "guessed by its name"
        return None, "no field is named like a label; pass label="

    def _finest_rank(self, names: Sequence[str]) -> str | None:
        """Of several columns called by ranks of one order, such as variant, family and manufacturer, the one that says all others."""
        if len(names) < LEVELS or not all({*words(name)} & (RANKS | {"family", "class"}) for name in names):
            return None
        told = {name: list(map(str, self.given[name].values)) for name in names}
        finest = max(names, key=lambda name: len({*told[name]}))
        nested = all(len({*zip(told[finest], of, strict=True)}) == len({*told[finest]}) for of in told.values())
        return finest if nested else None

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

    def _label_by_name(self) -> None:
        """Classes that the names of files tell, at least in training: those of a contest's test split are numbers."""
        own = [unit for unit in self.units if unit.split in ("train", None)] or list(self.units)
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

    def _label_by_names_and_numbers(self) -> None:
        """Classes that the names of files tell, where a column without a name numbers them: two sources say the same."""
        names = classes_in_names([unit.file for unit in self.units])
        if self.value != "image" or None in names:
            return
        again = [n for n, column in self.given.items() if NAMELESS.fullmatch(n) and one_to_one(names, column)]
        if again:
            self._label_by_name()
            self.label_how = f"from the file names, such as {names[0]}; {listed(again)} of a table holds their numbers"
            for name in again:
                self._drop_column(name)

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
        dated = [name for name in self.given if {*words(name)[-1:]} & {*PARTS}]
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
        if not pairs or right == pairs.total() or right < NEARLY_ALL * pairs.total() or len(meant) < 2:
            return []
        return [
            (unit.file, str(unit.label), value)
            for unit, value in zip(self.units, values, strict=True)
            if value is not None and meant.get(str(unit.label)) != value
        ]

    def _described(self, field: Field) -> Field:
        """The field of a partner that is a mask or an image, with the dtype and shape of its files; masks whose compression changed their values are told once."""
        import numpy as np

        from dataloader_expert.sources.pictures import channels_of, decode_image

        shapes, dtypes = Counter[tuple[int, ...]](), Counter[str]()
        paths = [path for unit in spread(self.units, 16) for name, path, _ in unit.at if name == field.name]
        blurred = ""
        for path in paths:
            try:
                image = decode_image(data := self.listing.read(path), path)
            except Unreadable:
                continue  # the scan reports it, with its location
            pixels = np.asarray(image)
            shapes[pixels.shape if field.kind == "mask" else (*pixels.shape[:2], channels_of(image))] += 1
            dtypes["uint8" if pixels.dtype == bool else str(pixels.dtype)] += 1
            if sniff(data[:512]) == "image/jpeg" and len(np.unique(pixels)) > LEVELS:
                blurred = blurred or path
        if blurred and field.name != "depth" and field.kind == "mask":
            text = (
                "masks are JPEG files: their compression changed values at the edges of classes into those of no class"
            )
            self.problems.append(Unreadable("label-out-of-range", text, file=blurred, field=field.name))
        if not shapes:
            return field
        rank = len(shapes.most_common(1)[0][0])
        alike = [shape for shape in shapes if len(shape) == rank]
        shape = tuple(x[0] if len(set(x)) == 1 else None for x in zip(*alike, strict=True))
        return Field(field.name, field.kind, dtypes.most_common(1)[0][0], shape)

    def other_fields(self) -> tuple[Field, ...]:
        """The fields of partners and of tables, and the label."""
        return (*self.partners, *self.annotated, *((Field("label", "category", "str"),) if self.by_folder else ()))

    def read(self, unit: Unit) -> Any:
        """The bytes of the sample's file and of its partners."""
        return self.listing.read(unit.file), [self.listing.read(path) for _, path, _ in unit.at]

    def decode(self, unit: Unit, raw: Any) -> Block:
        own, others = raw
        block = self.decode_file(unit, own)
        for (name, path, _), data in zip(unit.at, others, strict=True):
            block.columns[name] = Column([self._partner(data, path, block, name)])
        if self.given:
            at = self.row_of[unit.file]
            for name, column in self.given.items():
                block.columns[name] = column.cut(slice(at, at + 1))
        return block

    def column(self, unit: Unit, name: str) -> Column | None:
        at = self.row_of.get(unit.file)
        if at is not None and name in self.given:
            return self.given[name].cut(slice(at, at + 1))
        return super().column(unit, name)

    def nulls_within(self, units: Sequence[Unit]) -> frozenset[str]:
        rows = [self.row_of[unit.file] for unit in units if unit.file in self.row_of]
        absent = {name: self.given[name].nulls for name in self.with_nulls if name in self.given}
        return frozenset(name for name, nulls in absent.items() if nulls is not None and nulls[rows].any())

    def __getstate__(self) -> dict[str, Any]:
        """Without what only the written code needs: workers get the rest."""
        return {**vars(self), "notes": Annotations()}

    @abstractmethod
    def decode_file(self, unit: Unit, raw: bytes) -> Block:
        """The sample without its partners."""

    def _partner(self, data: bytes, path: str, block: Block, name: str) -> Any:
        """The value of the field of this name."""
        from dataloader_expert.sources.pictures import decode_image

        kind = next(f.kind for f in self.partners if f.name == name)
        if kind == "image":
            return decode_image(data, path, block.problems)
        return self._mask(data, path, block, name) if kind == "mask" else decode_text(data, path, block.problems)

    def _mask(self, data: bytes, path: str, block: Block, name: str) -> Any:
        """The value of the field of this name: shape [height, width] or [height, width, channels]."""
        import numpy as np

        from dataloader_expert.sources.pictures import decode_image

        mask = np.asarray(decode_image(data, path, block.problems))
        picture = block.columns[self.value].values[0]
        size = (getattr(picture, "height", None), getattr(picture, "width", None))
        if size[0] is not None and mask.shape[:2] != size:
            text = f"{mask.shape[0]} x {mask.shape[1]} pixels (height x width), and its image {size[0]} x {size[1]}"
            block.problems.append(Unreadable("length-mismatch", text, file=path, field=name))
        return mask.astype(np.uint8) if mask.dtype == bool else mask

    def with_label(self, unit: Unit, value: Any) -> dict[str, Any]:
        columns = {self.value: Column([value])}
        if self.by_folder:
            columns["label"] = Column([unit.label])
        return columns


def _how_many(files: Sequence[Entry], samples: int) -> str:
    """How many samples have such a file; if each of them has several in a folder of its own, how many files there are."""
    folders = {entry.path.rpartition("/")[0] for entry in files}
    if 1 < len(folders) < len(files):
        return f"{len(folders)} of {samples} samples have {len(files)} such files, several each"
    return f"{len(files)} of {samples} samples have one"


def _with_texts(fields: Sequence[Field], said: Collection[str]) -> tuple[Field, ...]:
    """The fields, those in ``said`` as texts, however few words they have."""
    texts = [f.name for f in fields if f.name in said and f.dtype == "str" and not f.shape]
    return tuple(replace(f, kind="text") if f.name in texts else f for f in fields)


def _parts_of_each(paths: Sequence[str], labels: Sequence[str | None]) -> list[str]:
    """The names of the files that each of several folders holds, if all hold the same few, called by words: the tracks of a song; or
    by the folder and a code, the bands of a satellite's picture."""
    held: dict[str, list[str]] = {}
    for path in paths:
        held.setdefault(folder_of(path), []).append(path.rpartition("/")[2].rpartition(".")[0])
    after = all(stem.startswith(folder.rpartition("/")[2]) for folder, stems in held.items() for stem in stems)
    if after:
        held = {
            folder: [stem[len(folder.rpartition("/")[2]) :].strip("_-. ") for stem in stems]
            for folder, stems in held.items()
        }
    names = sorted(next(iter(held.values()), []))
    alike = all(sorted(of) == names for of in held.values()) and len(held) > MOST_PARTS and len({*labels}) == len(held)
    form, most = (_BAND, MOST_BANDS) if after else (_PART, MOST_PARTS)
    return names if alike and 1 < len(names) <= most and all(map(form.fullmatch, names)) else []


def _of_few(found: Annotations, samples: int) -> frozenset[str]:
    """The fields that tables give of which no row names half of the samples."""
    named: dict[str, set[str]] = {}
    for table in found.joined:
        for name in table.fields:
            named.setdefault(name, set()).update(table.paths.values())
    return frozenset(name for name, paths in named.items() if 2 * len(paths) < samples)


def _listed_split(folder: str | None, listed: str | None) -> str | None:
    """The split of a sample: as its folder says, unless a list divides those in the folder of training, as KITTI's does."""
    return listed if listed is not None and folder in (None, "train") else folder


def _first_of(value: Any, classes: Collection[str]) -> Any:
    """The class that a text begins with, as ``n01440764 12 30 200 180`` of a class and a box; else the value itself."""
    first = value.split(None, 1)[:1] if isinstance(value, str) else []
    return first[0] if value not in classes and first and first[0] in classes else value


def _says_something(column: Column) -> bool:
    """Whether any sample has a value: a table may be of other files too."""
    if hasattr(column.values, "dtype"):
        return column.nulls is None or not bool(column.nulls.all())
    return any(value is not None for value in column.values)


def _apart(splits: Sequence[str | None], labels: Sequence[str | None]) -> bool:
    """Whether no class is in two of several splits."""
    both = {*zip(splits, labels, strict=True)}
    return len({*splits}) > 1 and len(both) == len({label for _, label in both})


def decode_text(data: bytes, name: str, problems: list[Unreadable]) -> str:
    """The text; one in an encoding of one byte each is read as Latin-1, other bytes that are not UTF-8 are replaced; both are reported, and so is a text in UTF-16, which is read as such.

    Raises:
        Unreadable: ``not-the-format`` if it is not a text.
    """
    if (wide := _wide(data)) is not None:
        problems.append(Unreadable("encoding-error", IN_UTF_16, file=name))
        return wide
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        at = data[e.start : e.start + 8]
        other = data.decode("utf-8", "ignore").isascii() and of_single_bytes(data)  # else it is damaged
        how = "; the text is read as Latin-1" if other else ""
        problems.append(Unreadable("encoding-error", f"not UTF-8 at byte {e.start}: {at!r}{how}", file=name))
        text = data.decode("latin-1") if other else data.decode("utf-8", "replace")
    if "\0" in text:
        raise Unreadable("not-the-format", "contains NUL bytes, so it is not text", file=name)
    return text


def _wide(data: bytes) -> str | None:
    """The text of bytes in UTF-16, which begin with its mark."""
    if not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return None
    try:
        text = data.decode("utf-16")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def without_partners(units: Sequence[Unit]) -> dict[str, frozenset[str]]:
    """By split the partners, such as masks, that none of its samples has, and those of another one have."""
    found: dict[str, set[str]] = {}
    for unit in units:
        if unit.split is not None:
            found.setdefault(unit.split, set()).update(name for name, *_ in unit.at)
    every = frozenset[str]().union(*found.values())
    return {split: every - names for split, names in found.items() if every - names}


def spread(items: Sequence[T], most: int) -> Sequence[T]:
    """At most ``most`` of the items, evenly spaced."""
    step = max(1, len(items) // most)
    return items[::step][:most]
