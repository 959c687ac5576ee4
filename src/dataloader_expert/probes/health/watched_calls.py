"""Calls that samples make of functions that read or parse something, or that no sample needs: by what, on which line of the user's, and
how long they take.

The functions are replaced in every module that holds them, so that they are timed as they are, in this process only. A reading is known
by its arguments, an image by its pixels: equal ones are the same work.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from dataloader_expert.probes.profile.stage_classifier import is_users

READERS = {
    "numpy": "load loadtxt genfromtxt fromfile memmap",
    "json": "load loads",
    "orjson": "loads",
    "pickle": "load loads",
    "marshal": "load loads",
    "yaml": "load safe_load",
    "tomllib": "load loads",
    "xml.etree.ElementTree": "parse fromstring",
    "pandas": "read_csv read_table read_json read_parquet read_pickle read_feather read_excel read_hdf read_fwf",
    "pyarrow.parquet": "read_table read_pandas",
    "pyarrow.feather": "read_table read_feather",
    "polars": "read_csv read_parquet read_json read_ipc",
    "torch": "load",
    "safetensors.torch": "load_file",
    "scipy.io": "loadmat",
    "scipy.io.wavfile": "read",
    "soundfile": "read",
    "librosa": "load",
    "torchaudio": "load",
    "torchvision.io": "read_image decode_image decode_jpeg decode_png read_file read_video",
    "cv2": "imread imdecode",
    "imageio": "imread",
    "imageio.v2": "imread",
    "imageio.v3": "imread",
    "skimage.io": "imread",
    "tifffile": "imread",
    "pydicom": "dcmread",
    "nibabel": "load",
    "rasterio": "open",
    "lmdb": "open",
    "zarr": "open open_group open_array",
    "xarray": "open_dataset open_zarr",
    "tarfile": "open",
    "gzip": "open",
}
"""Functions that read what their arguments name, by module."""
OPENERS = frozenset(
    [
        "numpy.memmap",
        "rasterio.open",
        "lmdb.open",
        "zarr.open",
        "zarr.open_group",
        "zarr.open_array",
        "xarray.open_dataset",
        "xarray.open_zarr",
        "tarfile.open",
        "h5py.File",
        "netCDF4.Dataset",
        "zipfile.ZipFile",
    ]
)
"""Those of which a handle may be kept."""
STORED = "h5py"
"""Arrays that are stored in chunks."""
READ_METHODS = {
    ("h5py", "File", "__init__"): "h5py.File",
    ("netCDF4", "Dataset", "__init__"): "netCDF4.Dataset",
    ("zipfile", "ZipFile", "__init__"): "zipfile.ZipFile",
    ("h5py", "Dataset", "__getitem__"): STORED,
    ("numpy.lib.npyio", "NpzFile", "__getitem__"): "numpy",
}
"""Methods that read what the object or their arguments name."""
NEEDLESS = {
    "copy": {"deepcopy": "copies"},
    "os": {"fsync": "syncs", "fdatasync": "syncs", "system": "processes"},
    "subprocess": dict.fromkeys(("run", "call", "check_call", "check_output", "getoutput"), "processes"),
    "gc": {"collect": "collects"},
    "builtins": {"print": "logs"},
}
"""Functions that no sample needs, with their kind."""
NEEDLESS_METHODS = {
    ("logging", "Logger", "_log"): ("a logger", "logs"),
    ("tqdm.std", "tqdm", "write"): ("tqdm.write", "logs"),
}
PARTS = frozenset({"h5py", "numpy"})
"""Those that read a part of a file which their arguments name."""
DECODING = "decoding an image"
LONG = 512
"""Characters from which on a text is no path."""
LARGEST = 1 << 24
"""Bytes of an argument up to which it is compared."""
Line = tuple[str, int, str]
"""File, line and function."""


@dataclass(frozen=True)
class Call:
    """``key``: what was read, None where that is not known, and of what reads nothing; ``of``: its file, if it is one; ``part``: how much of what
    is decompressed for it is taken."""

    name: str
    kind: str
    key: str | None
    of: str
    seconds: float
    at: Line
    part: float = 1.0


@dataclass
class Calls:
    """The calls of one sample, or of one batch that is made of samples, and the seconds that noting them took; ``shuffled``: samples are drawn from
    the whole file."""

    shuffled: bool = False

    made: list[Call] = field(default_factory=list)
    opened: list[tuple[str, Line]] = field(default_factory=list)
    noting_s: float = 0.0
    _exported: dict[str, float] = field(default_factory=dict)
    """What arrays of this sample's images hold, with the seconds of making them."""
    _within: bool = False
    """Whether a call that is noted is at work, whose own calls are not."""

    def begin(self) -> None:
        self.made, self.opened, self.noting_s = [], [], 0.0
        self._exported.clear()

    def watch(self) -> None:
        """Replaces the functions; to be called once, in a process that does nothing else."""
        made: dict[int, Callable[..., Any]] = {}
        for module, names in READERS.items():
            for name in names.split():
                plain = getattr(sys.modules.get(module), name, None)
                if isinstance(plain, type):
                    method = "__new__" if name == "memmap" else "__init__"
                    if not self._within_class(plain, method, f"{module}.{name}", "reads"):
                        made[id(plain)] = _StandIn(plain, self._noted(plain, f"{module}.{name}", "reads"))
                elif plain is not None:
                    made.setdefault(id(plain), self._noted(plain, f"{module}.{name}", "reads"))
        for module, kinds in NEEDLESS.items():
            for name, kind in kinds.items():
                plain = getattr(sys.modules.get(module), name, None)
                if plain is not None:
                    made[id(plain)] = self._noted(plain, f"{module}.{name}".removeprefix("builtins."), kind)
        self._replaced(made)
        for (module, owner, method), name in READ_METHODS.items():
            self._within_class(getattr(sys.modules.get(module), owner, None), method, name, "reads")
        for (module, owner, method), (name, kind) in NEEDLESS_METHODS.items():
            self._within_class(getattr(sys.modules.get(module), owner, None), method, name, kind)
        self._watch_images()
        tensor: Any = getattr(sys.modules.get("torch"), "Tensor", None)
        for name in ("float", "to", "type") if tensor is not None else ():
            setattr(tensor, name, self._converting(getattr(tensor, name)))
        with contextlib.suppress(RuntimeError):  # another hook may refuse
            sys.addaudithook(self._audit)

    def _replaced(self, made: dict[int, Callable[..., Any]]) -> None:
        """Puts functions in the place of others, given by their identity, in every module."""
        for held in list(sys.modules.values()):
            names_of = getattr(held, "__dict__", {})
            for name, value in list(names_of.items()):
                if id(value) in made and not name.startswith("__"):
                    with contextlib.suppress(TypeError):  # a module may allow no changes
                        names_of[name] = made[id(value)]

    def _within_class(self, kind: Any, method: str, name: str, work: str) -> bool:
        """Whether the method could be replaced: not that of a class of compiled code."""
        plain = getattr(kind, "__dict__", {}).get(method)
        if isinstance(plain, staticmethod):
            plain = plain.__func__
        if callable(plain):
            noted = self._noted(plain, name, work, skip=method != "__getitem__")
            with contextlib.suppress(TypeError):
                setattr(kind, method, staticmethod(noted) if method == "__new__" else noted)
                return True
        return False

    def _noted(self, plain: Any, name: str, kind: str, skip: bool = False) -> Callable[..., Any]:
        """``skip``: the first argument is the object that is made, and tells nothing."""

        def call(*given: Any, **named: Any) -> Any:
            if self._within:
                return plain(*given, **named)
            with self._noting():
                key, of = key_of(name, given[skip:], named) if kind == "reads" else (None, "")
                at, part = _at(sys._getframe(1)), part_of_chunks(self.shuffled, *given[:2]) if name == STORED else 1.0
            self._within, begun = True, time.perf_counter()
            try:
                return plain(*given, **named)
            finally:
                spent, self._within = time.perf_counter() - begun, False
                if at is not None:
                    self.made.append(Call(name, kind, key, of, spent, at, part))

        with contextlib.suppress(AttributeError, TypeError):
            functools.update_wrapper(call, plain)
        return call

    def _watch_images(self) -> None:
        """Notes the images that Pillow decodes, by their pixels."""
        if "PIL.Image" not in sys.modules:
            return
        from PIL import ImageFile

        for kind in _kinds(ImageFile.ImageFile):
            if "load" in kind.__dict__:
                kind.load = self._decoding(kind.__dict__["load"])
        image: Any = sys.modules["PIL.Image"]
        # fromarray ends with frombuffer, and torchvision calls that alone
        made_from, exported = image.frombuffer, image.Image.__dict__.get("__array_interface__")
        if isinstance(exported, property) and exported.fget is not None:
            image.Image.__array_interface__ = property(self._exporting(exported.fget))
            self._replaced({id(made_from): self._importing(made_from)})

    def _exporting(self, plain: Any) -> Callable[..., Any]:
        """Notes what arrays of images hold."""

        def export(picture: Any) -> Any:
            picture.load()  # decoding is no conversion
            begun = time.perf_counter()
            made = plain(picture)
            spent = time.perf_counter() - begun
            if not self._within:
                with self._noting(), contextlib.suppress(_Unknown):
                    self._exported[_pixels(picture)] = spent
            return made

        return export

    def _importing(self, plain: Any) -> Callable[..., Any]:
        """Notes images that are made from what an image held."""

        def from_array(*given: Any, **named: Any) -> Any:
            begun = time.perf_counter()
            made = plain(*given, **named)
            spent = time.perf_counter() - begun
            if not self._within:
                with self._noting(), contextlib.suppress(_Unknown):
                    before, at = self._exported.get(_pixels(made)), _at(sys._getframe(1))
                    if before is not None and at is not None:
                        self.made.append(Call("PIL.Image.fromarray", "round_trips", None, "", before + spent, at))
            return made

        return from_array

    def _converting(self, plain: Any) -> Callable[..., Any]:
        """Notes tensors of which half the bytes are dropped."""

        def convert(tensor: Any, *given: Any, **named: Any) -> Any:
            begun = time.perf_counter()
            made = plain(tensor, *given, **named)
            spent = time.perf_counter() - begun
            if not self._within and _dtype(tensor) == "torch.float64" and _dtype(made) == "torch.float32":
                with self._noting():
                    at = _at(sys._getframe(1))
                    if at is not None:
                        self.made.append(Call("torch.Tensor.float", "doubles", None, "", spent, at))
            return made

        return convert

    def _decoding(self, plain: Any) -> Callable[..., Any]:
        def load(picture: Any, *given: Any, **named: Any) -> Any:
            if self._within or not getattr(picture, "tile", None):  # nothing is left to decode
                return plain(picture, *given, **named)
            self._within, begun = True, time.perf_counter()
            try:
                loaded = plain(picture, *given, **named)
                spent = time.perf_counter() - begun
                with self._noting(), contextlib.suppress(_Unknown):
                    at, of = _at(sys._getframe(1)), str(getattr(picture, "filename", ""))
                    if at is not None:
                        key = f"{of} {_pixels(picture)}"
                        self.made.append(Call(DECODING, "reads", key, of, spent, at))
            finally:
                self._within = False
            return loaded

        return load

    @contextlib.contextmanager
    def _noting(self) -> Iterator[None]:
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.noting_s += time.perf_counter() - begun

    def _audit(self, event: str, given: tuple[Any, ...]) -> None:
        if event != "open" or not isinstance(given[0], str) or given[0].startswith(("/proc/", "/dev/")):
            return
        mode, flags = given[1], given[2]
        writes = (
            any(letter in mode for letter in "wax") if isinstance(mode, str) else flags & os.O_ACCMODE == os.O_WRONLY
        )
        if not writes:
            with self._noting():
                at = _at(sys._getframe(1))
                if at is not None:
                    self.opened.append((given[0], at))


class _StandIn:
    """Stands for a class of compiled code, which allows no change: calls are noted, all else is as with the class."""

    def __init__(self, plain: type, noted: Callable[..., Any]) -> None:
        self._plain, self._noted = plain, noted

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self._noted(*given, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plain, name)

    def __instancecheck__(self, made: Any) -> bool:
        return isinstance(made, self._plain)

    def __subclasscheck__(self, kind: type) -> bool:
        return issubclass(kind, self._plain)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (self._plain,)

    def __or__(self, other: Any) -> Any:
        return self._plain | other

    def __ror__(self, other: Any) -> Any:
        return other | self._plain


def part_of_chunks(shuffled: bool, stored: Any, index: Any = ()) -> float:
    """How much of what is decompressed for a part of a stored array is that part, because whole chunks are decompressed: 1 where HDF5 keeps them until
    their other samples are asked for, or where that is not known."""
    try:
        filters = stored.id.get_create_plist().get_nfilters()
        kept = stored.id.get_access_plist().get_chunk_cache()[1]
        asked = index if isinstance(index, tuple) else (index,)
        if ... in asked:
            at = asked.index(...)
            asked = (*asked[:at], *[slice(None)] * (len(stored.shape) + 1 - len(asked)), *asked[at + 1 :])
        asked += (slice(None),) * (len(stored.shape) - len(asked))
        taken = touched = 1
        for one, n, size in zip(asked, stored.shape, stored.chunks, strict=True):
            whole = range(n)[one] if isinstance(one, slice) else range(n)[int(one) :][:1]
            low, high = min(whole[0], whole[-1]), max(whole[0], whole[-1])
            taken *= len(whole)
            touched *= size * (high // size - low // size + 1)
    except Exception:  # another kind of index, a closed file, no chunks
        return 1.0
    if not filters or (stored.size if shuffled else touched) * stored.dtype.itemsize <= kept:
        return 1.0
    return min(1.0, taken / touched)


def _dtype(value: Any) -> str:
    return str(getattr(value, "dtype", ""))


def _pixels(picture: Any) -> str:
    return f"{picture.size} {picture.mode} {_digest(picture.tobytes())}"


def _kinds(kind: Any) -> Iterator[Any]:
    """A class and all that are derived from it."""
    yield kind
    for below in kind.__subclasses__():
        yield from _kinds(below)


def _at(frame: Any) -> Line | None:
    """The user's innermost line of a call, with its function."""
    while frame is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


class _Unknown(Exception):
    """What is read can't be told by the arguments."""


def key_of(name: str, given: tuple[Any, ...], named: dict[str, Any]) -> tuple[str | None, str]:
    """What a call reads, by its arguments, and the file among these; None where they do not tell."""
    try:
        parts = [_key(value) for value in given] + [f"{k}={_key(v)}" for k, v in sorted(named.items())]
    except _Unknown:
        return None, ""
    is_one = os.path.exists if name in OPENERS else os.path.isfile  # LMDB and Zarr keep folders
    of = next((str(path) for value in (*given, *named.values()) if (path := _path(value, is_one))), "")
    return f"{name}({', '.join(parts)})", of


def _path(value: Any, is_one: Callable[[str], bool] = os.path.isfile) -> str | None:
    """The path that an argument is, or that of the file that it reads."""
    if isinstance(value, str):
        return value if len(value) < LONG and is_one(value) else None
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    for owner, name in (
        (value, "name"),
        (getattr(value, "zip", None), "filename"),
        (getattr(value, "file", None), "filename"),
    ):
        with contextlib.suppress(Exception):  # of any class, perhaps closed
            found = getattr(owner, name)
            if isinstance(found, str) and os.path.isfile(found):
                return found
    return None


def _key(value: Any) -> str:
    if isinstance(value, str):
        return value if len(value) < LONG else _digest(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    if isinstance(value, bytes | bytearray | memoryview):
        return _digest(value)
    if value is None or value is ... or isinstance(value, int | float | complex | type | slice) or callable(value):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_key, value))}]"
    if isinstance(value, dict):
        return _key(sorted((str(k), _key(v)) for k, v in value.items()))
    if isinstance(value, io.BytesIO):
        return f"{_digest(value.getbuffer())} {value.tell()}"
    path = _path(value)
    if path is not None:  # an open file, at its position; an archive; a dataset of a file, by its name
        with contextlib.suppress(Exception):
            return f"{path} {value.tell() if hasattr(value, 'tell') else getattr(value, 'name', '')}"
    with contextlib.suppress(Exception):
        if value.nbytes <= LARGEST:
            return _digest((value.numpy() if hasattr(value, "numpy") else value).tobytes())
    raise _Unknown


def _digest(content: Any) -> str:
    if len(content) > LARGEST:
        raise _Unknown
    return hashlib.blake2b(content, digest_size=12).hexdigest()
