"""Sources whose samples are files, alone or with partners: folders of images, audio or texts, with splits and classes as folders."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from dataloader_expert.conclusions import number, verb
from dataloader_expert.errors import Aside, RequestError, Unreadable, escaped
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.annotated import Annotated
from dataloader_expert.sources.annotations.reading import annotations_of
from dataloader_expert.sources.annotations.record import Annotations, folder_of
from dataloader_expert.sources.arrow_columns import listed
from dataloader_expert.sources.base import FOLDER, Block, Column, Field, Role, Roles, Unit
from dataloader_expert.sources.decoded_text import decode_text
from dataloader_expert.sources.events import with_events
from dataloader_expert.sources.files import Entry, Listing
from dataloader_expert.sources.folder_labels import NEARLY_ALL
from dataloader_expert.sources.further import with_maps
from dataloader_expert.sources.groups_in_names import group_in_names
from dataloader_expert.sources.layout import BY_FOLDER, beside_folders, folders_of, in_aside
from dataloader_expert.sources.levels import numbered_alike, numbered_anew
from dataloader_expert.sources.magic import sniff
from dataloader_expert.sources.name_codes import codes_in_names
from dataloader_expert.sources.no_classes import against_classes, are_repeats
from dataloader_expert.sources.pairing import READ, Pairing, pair
from dataloader_expert.sources.roles import GROUP_WORDS, words
from dataloader_expert.sources.scenes import same_scenes, with_scenes
from dataloader_expert.sources.sound_scenes import with_parts
from dataloader_expert.sources.sounds import decode_audio, sound_field
from dataloader_expert.sources.views import several_views

T = TypeVar("T")
MOST_PARTS = 8
"""The most files of a folder that make one thing, such as a song; more folders are as likely each of another one."""
MOST_BANDS = 16
"""The same, of files called after their folder."""
_PART = re.compile(r"[A-Za-z]{3,}(?:[_-][A-Za-z]+)*")
_BAND = re.compile(r"[A-Za-z]+\d{0,2}[A-Za-z]?(?:[_-][A-Za-z]+\d{0,2})*")
LEVELS = 2
"""Values of a mask of two classes: a JPEG that holds no more was compressed without loss to them."""


class FileSamples(Annotated):
    """One sample per file, with its partners. A member defines a file's value: ``value`` and ``decode_file``."""

    value = "data"
    paired = True
    """Whether other files may belong to a sample, such as its mask."""
    partners_read: frozenset[str] = frozenset(READ)
    """Kinds of partners whose content is read; of others only that they are there."""

    def __init__(self, listing: Listing, ref: SourceRef, entries: list[Entry]) -> None:
        super().__init__()
        self.listing = listing
        if not entries:
            raise RequestError("format-unknown", f"no {self.format} files were found; pass format= or another folder")
        notes = Annotations() if listing.single else annotations_of(listing, entries)
        tables = {*notes.tables}
        others = [entry for entry in self.may_belong(listing.entries) if entry.path not in tables]
        alone = listing.single or not self.paired
        pairing = Pairing(entries) if alone else pair(others, self.kinds)
        if self.value == "image" and not alone:
            pairing = with_scenes(pairing, listing)
        if self.value == "audio" and not alone:
            pairing = with_parts(with_events(pairing, listing), listing)
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
        of_folders = folders_of([pairing.called.get(path, path) for path in paths])
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
        kinds = {name: kind for name, kind in pairing.fields.items() if kind in self.partners_read}
        self.partners = tuple(
            Field(n, "text", "str")
            if k == "text"
            else Field(n, "audio", "float32", (None, None))
            if k == "audio"
            else Field(n, "image" if n in pairing.pictures else "mask", "uint8", (None, None))
            for n, k in kinds.items()
        )
        scenes = any(f.kind in ("mask", "image") for f in self.partners) and _apart(splits, labels)
        told = any(f.kind == "text" for f in self.partners)
        spoken = told and (self.value == "audio" or (self.value == "image" and names != [] and are_repeats(names)))
        together = _parts_of_each(paths)
        held_in = len({folder_of(path) for path in paths})
        apart = together and (
            len({*labels}) == held_in or all(n[-1].isdecimal() for n in names)
        )  # office_1 is one of several
        self.groups = dict(zip((folder_of(path) for path in paths), of_folders.groups, strict=True))
        against = against_classes(paths, splits, labels, self.value) if names else None
        if names and (scenes or maps or spoken or apart or against or self._are_groups(names, notes)):
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
            name: f"{kind} {only}".removeprefix(f"{name} ")
            for name, kind in pairing.fields.items()
            if kind not in self.partners_read
        }
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
            n = len(set_aside)
            self.unread[aside] = (
                f"a folder with this name is not a class: its {number(n, 'file')} {verb(n, 'are')} not read"
            )
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
        if self.value != "text" and any(f.kind == "text" for f in self.partners):
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
        described = {"mask": self._described, "image": self._described, "audio": self._described_sound}
        self.partners = tuple(described[f.kind](f) if f.kind in described else f for f in self.partners)
        self.lacking = without_partners(self.units)
        self.media = self.value if self.value in ("image", "audio") else None
        self.files, self.bytes = len(entries), sum(e.size for e in entries)
        self.sharding = "one file per sample"
        self.by_folder = bool(names)
        if names:
            by_lists = "from the lists of splits, which name each clip with its class"
            self.label, self.label_how = "label", by_lists if notes.class_of_clip else BY_FOLDER
            self.classes = tuple(names)
        self.annotated = ()
        self.sizes = notes.sizes
        """Width and height of images, as annotations say."""
        self.notes = replace(notes, rows={}, problems=[], sizes={})
        """Where they come from."""
        self.dialects = {table.path: table.dialect for table in notes.joined if table.dialect is not None}
        self.given = {}
        self.row_of = {}
        self.several = None
        self.may_be_empty = frozenset()
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

    def may_belong(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Those of the files that are samples or may belong to one."""
        return entries

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

    def _described_sound(self, field: Field) -> Field:
        """The field of a partner that is a recording, with the dtype and the channels of its files."""
        paths = [path for unit in spread(self.units, 4) for name, path, _ in unit.at if name == field.name]
        return sound_field(field.name, ((path, self.listing.read) for path in paths))

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
        if self.by_folder and name == "label":
            return Column([unit.label])
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
        if kind == "audio":
            return _sound_of(data, path, block, name)
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


def _sound_of(data: bytes, path: str, block: Block, name: str) -> Any:
    """The recording of the field of this name; a rate other than the sample's own, which all its recordings are read with, is a problem."""
    samples, rate = decode_audio(data, path, block.problems)
    own = int(block.columns["sample_rate"].values[0]) if "sample_rate" in block.columns else rate
    if rate != own:
        text = f"recorded at {rate:,} Hz, and the sample that it is a part of at {own:,} Hz"
        block.problems.append(Unreadable("rate-drift", text, file=path, field=name))
    return samples


def _how_many(files: Sequence[Entry], samples: int) -> str:
    """How many samples have such a file; if each of them has several in a folder of its own, how many files there are."""
    folders = {entry.path.rpartition("/")[0] for entry in files}
    if 1 < len(folders) < len(files):
        return f"{len(folders)} of {samples} samples have {len(files)} such files, several each"
    return f"{len(files)} of {samples} samples have one"


def _parts_of_each(paths: Sequence[str]) -> list[str]:
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
    alike = all(sorted(of) == names for of in held.values()) and len(held) > MOST_PARTS
    form, most = (_BAND, MOST_BANDS) if after else (_PART, MOST_PARTS)
    return names if alike and 1 < len(names) <= most and all(map(form.fullmatch, names)) else []


def _listed_split(folder: str | None, listed: str | None) -> str | None:
    """The split of a sample: as its folder says, unless a list divides those in the folder of training, as KITTI's does."""
    return listed if listed is not None and folder in (None, "train") else folder


def _apart(splits: Sequence[str | None], labels: Sequence[str | None]) -> bool:
    """Whether no class is in two of several splits."""
    both = {*zip(splits, labels, strict=True)}
    return len({*splits}) > 1 and len(both) == len({label for _, label in both})


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
