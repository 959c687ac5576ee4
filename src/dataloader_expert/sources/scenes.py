"""Images of one scene that names of folders or of files tell apart: ``low/7.png`` and ``high/7.png``, ``7_sat.jpg`` and ``7_mask.png``.

Names alone decide nothing here, as classes may be called so and number their files alike: a few images of both are read, and belong
together if one side's values are few classes, or if each image resembles its own partner more than those of the others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

from dataloader_expert.errors import Unreadable, escaped
from dataloader_expert.sources.files import Entry, Listing
from dataloader_expert.sources.layout import AROUND, SPLITS, split_of_folder, tokens
from dataloader_expert.sources.looks import FEWEST, Looks, alike
from dataloader_expert.sources.no_classes import same_names, streams
from dataloader_expert.sources.pairing import PARTNERS, SAMPLES, Pairing

GIVEN = SAMPLES | {
    "original", "originals", "raw", "source", "src", "low", "lr", "lq", "blur", "blurred", "blurry", "noisy", "noise", "rain",
    "rainy", "haze", "hazy", "fog", "foggy", "dark", "degraded", "corrupted", "damaged", "distorted", "sat",
}  # fmt: skip
"""Words that name images as a model is given them."""
WANTED = {
    "high", "hr", "hq", "sharp", "clean", "clear", "norain", "reference", "ref", "enhanced", "restored", "denoised", "gt",
    "groundtruth", "target", "targets", "label", "labels",
}  # fmt: skip
"""Words that name images as a model is to make them; some of them may be masks as well."""
VIEWS = {
    "left",
    "right",
    "before",
    "after",
    "pre",
    "post",
    "nir",
    "ir",
    "thermal",
    "infrared",
    "visible",
    "vis",
    "sar",
    "optical",
    "red",
    "green",
    "blue",
    "yellow",
    "dapi",
}
"""Words that name one of several images of a scene, also the channels of a microscope."""
TRACED = {
    "manual",
    "labeled",
    "labelled",
    "annotated",
    "contour",
    "contours",
    "outline",
    "outlines",
    "matte",
    "mattes",
    "alpha",
}
"""Words that name masks, among others."""
TOLD = {"gt", "groundtruth", "labeled", "labelled", "annotated"}
"""Words of masks that say no more than that they are such."""
DISTANCES = {"disp", "disparities"}
LETTERS = {"a", "b"}
NUMBERED = {"im", "t", "time", "date"}
"""Words that name one of several images of a scene with a number behind them: ``im1``, ``T2``."""
FIRST = {"left", "before", "pre", "a"}
"""The first of two views."""
MASKS = {word for word, name in PARTNERS.items() if name != "text"} | TRACED | DISTANCES | {"target"}
"""Words that masks may be called by."""
WORDS = GIVEN | WANTED | VIEWS | MASKS
MOST_ROLES = 12
"""More names are those of classes, of takes or of parts of a download."""
SURE = 0.9
"""The least share of the files of either folder that are called as one of the other, where no word tells what they are."""
MOST_DIGITS = 12
"""More digits are a hash or a date with a time."""
INNERMOST = -1
"""In place of a level: the innermost folder of a file that is called by a role, as parts of a download nest unequally."""
LACKING = 0.1
"""Where more samples lack a partner, it is on purpose."""
_IN_NAME = re.compile(rf"(?:^|[_\-. ])(?:{'|'.join(sorted(WORDS))})[_\-. ]", re.IGNORECASE)
_SCALE = re.compile(r"[xX]\d|bicubic", re.ASCII)
_SEPARATOR = re.compile(r"[_\-. ]+")
_END = re.compile(r"(?<=\d)[A-Za-z]+\d*$")
_GLUED = re.compile(rf"({'|'.join(SPLITS)})({'|'.join(PARTNERS)})")


@dataclass(frozen=True)
class Place:
    """Where an image stands: ``role``: what its folder or its name calls it, '' if nothing; ``word``: the one in it that says so;
    ``above``: its other folders; ``stem``: the rest of its name."""

    role: str
    word: str
    above: tuple[str, ...]
    stem: str


@dataclass
class Role:
    """The images of one role by their keys, which images of one scene share."""

    name: str
    word: str
    files: dict[tuple[str, ...], Entry] = field(default_factory=dict)


def with_scenes(pairing: Pairing, listing: Listing) -> Pairing:
    """The pairing, with images of one scene among its samples joined."""
    looks = Looks(listing)
    pairing = _with_pictures(pairing, looks)
    levels = _levels([entry.path for entry in pairing.samples])
    tried = (_at_level(pairing, level, looks) for level in levels)
    found = next((one for one in tried if one is not None), None)
    if found is not None and INNERMOST in levels:
        whole = _at_level(pairing, INNERMOST, looks)
        found = whole if whole is not None and len(whole.samples) < len(found.samples) else found
    if found is not None:
        return found
    return _by_looks(pairing, looks) or _with_streams(pairing) or pairing


def _with_streams(pairing: Pairing) -> Pairing | None:
    """The pairing where folders are all called by what they hold of a scene, such as ``rgb`` and ``depth``, and their files by times
    that no two share: the others are not samples of their own."""
    parts = [entry.path.split("/") for entry in pairing.samples]
    for level in reversed(range(max(map(len, parts), default=1) - 1)):
        names = {of[level] if len(of) > level + 1 else "" for of in parts}
        found = streams(names)
        if found is not None:
            own, others = found
            held: dict[str, list[Entry]] = {}
            for entry, of in zip(pairing.samples, parts, strict=True):
                held.setdefault(of[level], []).append(entry)
            return replace(pairing, samples=held[own[0]], streams={name: held[name] for name in sorted(others)})
    return None


def _by_looks(pairing: Pairing, looks: Looks) -> Pairing | None:
    """The pairing where two folders, whatever they are called, hold files of the same names, which are no numbers that count, and those of
    one alone are few plain colours: masks of the others."""
    parts = [entry.path.split("/") for entry in pairing.samples]
    for level in reversed(range(max(map(len, parts), default=1) - 1)):
        names = {of[level] if len(of) > level + 1 else "" for of in parts}
        if len(names) != 2 or "" in names or any(map(split_of_folder, names)):
            continue
        roles = {name: Role(name, "mask") for name in sorted(names)}
        for entry, of in zip(pairing.samples, parts, strict=True):
            roles[of[level]].files[(*of[:level], *of[level + 1 : -1], of[-1].rpartition(".")[0])] = entry
        one, two = roles.values()
        for own, other in ((one, two), (two, one)):
            pairs = _matched(own, other)
            if len(pairs) < SURE * max(len(own.files), len(other.files)) or counted(key[-1] for key in pairs):
                continue
            some = looks.of([*pairs.values()])
            one_size = all((a.width, a.height) == (b.width, b.height) for a, b in some)
            if len(some) >= FEWEST and one_size and all(b.few and not a.few for a, b in some):
                return _joined(pairing, own, [other], {other.name: pairs}, {other.name: "mask"})
    return None


def counted(stems: Iterable[str]) -> bool:
    """Whether names are little more than numbers that follow one another, as files of any two folders may have."""
    numbers = {int(digits) for stem in stems if (digits := re.sub(r"\D", "", stem)[-MOST_DIGITS:])}
    return not numbers or max(numbers) - min(numbers) < 2 * len(numbers)


def _levels(paths: Sequence[str]) -> list[int | None]:
    """The levels of folders of which some are called by a role, innermost first, the innermost folder of each file whatever its level
    where these are several, and None if names of files are. A folder that all lie in tells nothing."""
    folders = {path.rpartition("/")[0] for path in paths}
    parts = [folder.split("/") for folder in folders if folder]
    deepest = max(map(len, parts), default=0)
    at = [{of[level] for of in parts if len(of) > level} for level in range(deepest)]
    several = [level for level, names in enumerate(at) if len(names) > 1 or "" in folders]
    found: list[int | None] = [n for n in reversed(several) if any(_of_folder(name)[0] for name in at[n])]
    found += [INNERMOST] if len(found) > 1 else []
    return [*found, None] if any(_IN_NAME.search(path.rpartition("/")[2]) for path in paths) else found


def _at_level(pairing: Pairing, level: int | None, looks: Looks) -> Pairing | None:
    """The pairing with the partners that the roles at a level tell; None if they tell none."""
    roles = _roles(pairing.samples, level)
    if not 1 < len(roles) <= MOST_ROLES:
        return None
    for own in sorted(roles, key=lambda role: (_rank(role.word), role.word not in FIRST, role.name)):
        others = [r for r in roles if r is not own and _rank(r.word) >= _rank(own.word) and (r.word or _same(own, r))]
        pairs = {role.name: _matched(own, role) for role in others}
        kinds = {role.name: _kind(own, role, pairs[role.name], looks) for role in others if pairs[role.name]}
        found = [role for role in others if kinds.get(role.name)]
        if any(kinds[role.name] == "mask" for role in found):  # of each of several views alike
            found += [r for r in others if r not in found and pairs[r.name] and _are_views(own, r)]
        if found:
            joined = _joined(pairing, own, found, pairs, {r.name: kinds.get(r.name) or "image" for r in found})
            rest = [r for r in roles if r not in (own, *found) and not r.word and r.name]
            rest = rest or (_unnamed(joined.samples, level) if own.word in VIEWS | LETTERS | NUMBERED else [])
            return _with_siblings(joined, own, rest, looks)
    return None


def _with_siblings(pairing: Pairing, own: Role, roles: Sequence[Role], looks: Looks) -> Pairing:
    """The pairing with the images of further folders beside those of roles: nearly all are called as a sample, as the occlusions of
    frames. Those that neither are masks nor resemble their samples are known, but not read."""
    for role in roles:
        pairs = {key: (own.files[key], entry) for key, entry in role.files.items() if key in own.files}
        if not role.name.startswith("=") or len(pairs) < SURE * len(role.files):
            continue
        some = looks.of([*pairs.values()])
        few = len(some) >= FEWEST and all(two.few and not one.few for one, two in some)
        if few or alike(some):
            kind = "mask" if few else "image"
            pairing = _joined(pairing, own, [role], {role.name: pairs}, {role.name: kind})
            continue
        taken = {entry.path for entry in role.files.values()}
        kept = [entry for entry in pairing.samples if entry.path not in taken]
        of = {**pairing.streams, role.name.removeprefix("="): [*role.files.values()]}
        pairing = replace(pairing, samples=kept, streams=of)
    return pairing


def _are_views(own: Role, other: Role) -> bool:
    """Whether two roles are views of the scenes that both have masks of: ``image_1`` and ``image_2``, ``A`` and ``B`` of nearly the same
    names."""
    both = {own.word, other.word} <= VIEWS | LETTERS | NUMBERED
    return own.word == other.word in SAMPLES or (both and same_names([own.files.keys(), other.files.keys()]))


def _same(own: Role, other: Role) -> bool:
    """Whether a folder that is not called by a role holds nearly the same names as the one of the samples."""
    return other.name.startswith("=") and own.word in SAMPLES and same_names([own.files.keys(), other.files.keys()])


def same_scenes(paths: Sequence[str], labels: Sequence[str | None], listing: Listing) -> bool:
    """Whether two classes hold images called alike that show the same scenes: a sample may be one image, or both."""
    names = {label for label in labels if label is not None}
    if len(names) != 2:
        return False
    roles = {name: Role(name, "") for name in sorted(names)}
    for path, label in zip(paths, labels, strict=True):
        if label is not None:
            *above, stem = path.rpartition(".")[0].split("/")
            key = (*(part for part in above if part != label), stem)
            roles[label].files[key] = Entry(path, 0, "image")
    one, two = roles.values()
    pairs = [(entry, two.files[key]) for key, entry in one.files.items() if key in two.files]
    return 2 * len(pairs) > max(len(one.files), len(two.files)) and alike(Looks(listing).of(pairs))


def _with_pictures(pairing: Pairing, looks: Looks) -> Pairing:
    """The pairing where partners in colour that resemble their samples, such as those in ``gt`` beside ``input``, are no masks."""
    samples = {entry.path: entry for entry in pairing.samples}
    for name in ("mask", "target"):
        found = [(samples[p], of[name]) for p, of in pairing.partners.items() if name in of and p in samples]
        if not found or not _called_wanted(found[0][1].path):
            continue
        some = looks.of(found)
        if alike(some) and all(two.colour and not two.few for _, two in some):
            called = name if any("target" in of for of in pairing.partners.values()) else "target"
            partners = {p: {called if n == name else n: e for n, e in of.items()} for p, of in pairing.partners.items()}
            pairing = replace(pairing, partners=partners, pictures=pairing.pictures | {called})
    return pairing


def _called_wanted(path: str) -> bool:
    """Whether what names a partner may name an image as well."""
    *folders, name = path.split("/")
    said = [place_of(name, None).word, *(_of_folder(folder)[0] for folder in reversed(folders))]
    return next((word for word in said if word in MASKS | WANTED), "") in WANTED


def _rank(word: str) -> int:
    """The order in which images are the ones that others belong to."""
    if word in SAMPLES:
        return 0
    return 1 if word in GIVEN or not word else 2 if word in VIEWS | LETTERS | NUMBERED else 3 if word in WANTED else 4


def _roles(entries: Sequence[Entry], level: int | None) -> list[Role]:
    """The roles that the folders at this level tell, or the names of files; those of which two images have one key tell nothing."""
    places = {entry: place_of(entry.path, level) for entry in entries}
    named = {place.role: place for place in places.values() if place.role}
    if level is not None and len(named) == 1:
        places = {e: place if place.role else _beside(place, level) for e, place in places.items()}
    roles: dict[str, Role] = {}
    twice: set[str] = set()
    for entry, place in places.items():
        role = roles.setdefault(place.role, Role(place.role, place.word))
        if role.files.setdefault((*place.above, place.stem), entry) is not entry:
            twice.add(place.role)
    return [role for name, role in roles.items() if name not in twice]


def _unnamed(entries: Sequence[Entry], level: int | None) -> list[Role]:
    """The images in folders at this level that are not called by a role, by their folder."""
    roles: dict[str, Role] = {}
    for entry in entries if level is not None and level >= 0 else ():
        place = place_of(entry.path, level)
        place = place if place.role else _beside(place, level or 0)
        if place.role.startswith("="):
            role = roles.setdefault(place.role, Role(place.role, ""))
            role.files[*place.above, place.stem] = entry
    return [*roles.values()]


def _beside(place: Place, level: int) -> Place:
    """The place of an image whose folder is not called by a role, beside the one other folder that is: ``frames`` beside ``masks``."""
    if level >= len(place.above) or split_of_folder(place.above[level]) is not None:
        return place
    above = (*place.above[:level], *place.above[level + 1 :])
    return replace(place, above=above, role=f"={place.above[level]}")


def place_of(path: str, level: int | None) -> Place:
    """Where the image of this path stands, as its folder at this level tells, or its name."""
    *folders, name = path.split("/")
    stem = name.rpartition(".")[0] or name
    if level is None:
        parts = [part for part in _SEPARATOR.split(stem) if part]
        at = next((i for i in (-1, 0) if len(parts) > 1 and parts[i].lower() in WORDS), None)
        if at is None:
            return Place("", "", tuple(folders), stem)
        word = parts.pop(at).lower()
        return Place(word, word, tuple(folders), "_".join(parts))
    if level == INNERMOST:
        at = next((i for i in reversed(range(len(folders))) if _of_folder(folders[i])[0]), None)
        if at is None:
            return Place("", "", tuple(folders), stem)
        splits = [split for folder in folders if (split := split_of_folder(folder)) is not None]
        return Place(_of_folder(folders[at])[1], _of_folder(folders[at])[0], tuple(splits), stem)
    word, role, split = _of_folder(folders[level]) if level < len(folders) else ("", "", "")
    if not word:
        return Place("", "", tuple(folders), stem)
    below = folders[level + 1 :]
    while below and _SCALE.fullmatch(below[0]):
        role = f"{role}/{below.pop(0)}"
    return Place(role, word, (*folders[:level], *([split] if split else []), *below), stem)


@lru_cache(1 << 12)
def _of_folder(folder: str) -> tuple[str, str, str]:
    """The word for a role in a folder's name, the name without that of a split, and the split's, each '' if there is none."""
    said = tokens(folder)
    glued = _GLUED.fullmatch(folder.lower())
    if glued is not None:
        said = [glued[1], glued[2]]
    splits = [token for token in said if token in SPLITS]
    rest = [token for token in said if token not in SPLITS]
    both = ["".join(pair) for pair in pairwise(rest)]  # ground_truth
    found = [w for w in (*both, *reversed(rest)) if w in WORDS]
    word = next((w for w in found if w not in AROUND), found[0] if found else "")  # label_images
    if not word and (
        (len(rest) == 1 and rest[0] in LETTERS) or (len(rest) == 2 and rest[0] in NUMBERED and rest[1].isdigit())
    ):
        word = rest[0]
    return (word, "_".join(rest), SPLITS[splits[0]] if len(splits) == 1 else "") if word else ("", "", "")


Pairs = dict[tuple[str, ...], tuple[Entry, Entry]]
"""By the key of a sample its file and that of its partner."""


def _matched(own: Role, other: Role) -> Pairs:
    """The pairs of files that are called alike; none if they are fewer than half of either."""
    for one, two in _keyings(own, other):
        shared = [key for key in one if key in two]
        splits = {key[:-1] for key in shared}
        due = sum(key[:-1] in splits for key in one)
        if len(shared) > 1 and 2 * len(shared) >= max(due, len(two)):
            return {key: (one[key], two[key]) for key in shared}
    return _several_of_one(own, other)


def _keyings(own: Role, other: Role) -> Iterator[tuple[dict[Any, Entry], dict[Any, Entry]]]:
    """The files of both by names: as they are, and without what all names in a folder share."""
    yield own.files, other.files
    yield _bare(own.files), _bare(other.files)


def _bare(files: Mapping[tuple[str, ...], Entry]) -> dict[tuple[str, ...], Entry]:
    """The files by what is left of their names without words that all in their folder begin or end with; none if that is not
    enough to tell them apart."""
    homes: dict[str, list[tuple[tuple[str, ...], Entry]]] = {}
    for key, entry in files.items():
        homes.setdefault(entry.path.rpartition("/")[0], []).append((key, entry))
    found: dict[tuple[str, ...], Entry] = {}
    for of in homes.values():
        stems = _without_common([key[-1] for key, _ in of])
        found |= {(*key[:-1], stem): entry for (key, entry), stem in zip(of, stems, strict=True)}
    return found if len(found) == len(files) else {}


def _without_common(stems: Sequence[str]) -> list[str]:
    if len(stems) < 2:
        return [*stems]
    ends = {m.group() if (m := _END.search(stem)) else "" for stem in stems}
    if len(ends) == 1 and (end := ends.pop()):
        stems = [stem.removesuffix(end) for stem in stems]
    parts = [[part for part in _SEPARATOR.split(stem) if part] or [stem] for stem in stems]
    for at in (0, -1):
        while all(len(of) > 1 for of in parts) and len({of[at] for of in parts}) == 1 and not parts[0][at].isdigit():
            for of in parts:
                del of[at]
    return ["_".join(of) for of in parts]


def _several_of_one(own: Role, other: Role) -> Pairs:
    """Pairs where several samples have one partner, after which they are called: ``hazy/7_1_0.8.png`` of ``clear/7.png``."""
    found: Pairs = {}
    for key, entry in own.files.items():
        parts = _SEPARATOR.split(key[-1])
        for n in range(len(parts) - 1, 0, -1):
            if (partner := other.files.get((*key[:-1], "_".join(parts[:n])))) is not None:
                found[key] = (entry, partner)
                break
    used = {partner.path for _, partner in found.values()}
    enough = len(used) > 1 and 2 * len(used) >= len(other.files) and 2 * len(found) >= len(own.files)
    return found if enough and len(found) > len(used) else {}


def _kind(own: Role, other: Role, pairs: Pairs, looks: Looks) -> str | None:
    """What the partner's files are, ``mask`` or ``image``; None if these do not belong together."""
    some = looks.of([*pairs.values()])
    if len(some) >= FEWEST:
        few = all(two.few for _, two in some) and not all(one.few for one, _ in some)
        if few and other.word in MASKS and own.word not in MASKS:
            return "mask"
        named = {own.word, other.word} <= LETTERS | NUMBERED and _are_views(own, other)
        if alike(some) or (named and not counted(key[-1] for key in pairs)):
            return "image"
    sure = other.word in MASKS and (own.word in SAMPLES or not own.name)
    return None if not sure else "mask" if other.word not in WANTED or not some else "image"


def _joined(pairing: Pairing, own: Role, others: list[Role], pairs: dict[str, Pairs], kinds: dict[str, str]) -> Pairing:
    """The pairing with these partners of the samples of ``own``."""
    partners = {path: dict(found) for path, found in pairing.partners.items()}
    problems, partial, further = [*pairing.problems], {**pairing.partial}, {**pairing.further}
    pictures, taken = {*pairing.pictures}, set[str]()
    for role, name in zip(others, _names(others, kinds, {n for of in partners.values() for n in of}), strict=True):
        found = pairs[role.name]
        taken |= {entry.path for entry in role.files.values()}
        there = {entry.path for entry, _ in found.values()}
        splits = {key[:-1] for key in own.files if own.files[key].path in there}
        lacking = [entry for key, entry in own.files.items() if entry.path not in there and key[:-1] in splits]
        used = {partner.path for _, partner in found.values()}
        problems += [
            Unreadable("missing-pair", f"{name} has no matching sample", file=entry.path)
            for entry in role.files.values()
            if entry.path not in used
        ]
        if len(lacking) > LACKING * len(there):
            partial[name] = [partner for _, partner in found.values()]
            continue
        example = escaped(next(iter(found.values()))[1].path)
        problems += [
            Unreadable("missing-pair", f"has no matching {name}, such as {example}", file=e.path) for e in lacking
        ]
        for entry, partner in found.values():
            partners.setdefault(entry.path, {})[name] = partner
        if kinds[role.name] == "image":
            pictures.add(name)
    samples = [entry for entry in pairing.samples if entry.path not in taken]
    homes = {entry.path.rpartition("/")[0] for entry in samples}
    kept = {name: [folder for folder in folders if folder in homes] for name, folders in pairing.without.items()}
    without = {name: folders for name, folders in kept.items() if folders}
    return replace(
        pairing,
        samples=samples,
        partners=partners,
        problems=problems,
        partial=partial,
        without=without,
        further=further,
        pictures=frozenset(pictures),
    )


def _names(roles: Sequence[Role], kinds: Mapping[str, str], taken: set[str]) -> list[str]:
    """A field's name for each: of a mask the usual one, of an image the word for its role, or all of its folder's name where others have
    the same word."""
    usual = {**PARTNERS, **dict.fromkeys(DISTANCES, "depth"), **dict.fromkeys(TOLD, "mask")}
    said = [role.word or re.sub(r"\W+", "_", role.name.removeprefix("=")) for role in roles]
    words = [usual.get(w, w) if kinds[role.name] == "mask" else w for w, role in zip(said, roles, strict=True)]
    counts = Counter([*words, *taken, "image", "label"])
    named: list[str] = []
    for word, role in zip(words, roles, strict=True):
        name = word if counts[word] == 1 else re.sub(r"\W+", "_", role.name)
        while name in {*named, *taken, "image", "label"}:
            name += "_2"
        named.append(name)
    return named
