"""Which stage a stack belongs to, and which of its functions is the expensive one.

Three kinds of evidence are used, the strongest first, each searched from the innermost frame outwards: a line's calls
into a library that does one thing (zlib inflates, Pillow's decoder decodes, a file's ``read`` reads); the name of the
user's function; what a line itself computes or waits for. A line's calls are found in its source and looked up in its
module, so that ``from zlib import decompress as d`` is recognised. If none of these decides, the stack is unattributed.
"""

from __future__ import annotations

import ast
import binascii
import functools
import importlib
import re
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ClassMethodDescriptorType
from typing import Any

from dataloader_expert.probes.profile.remote_stack import Columns, Stack
from dataloader_expert.probes.profile.statements import nodes_around

PACKAGE = str(Path(__file__).parent.parent.parent)
"""This package, which may be installed as a checkout."""
OURS = (str(Path(__file__).parent.parent), str(Path(PACKAGE, "lab")))
"""What of it measures."""
FETCHING = "torch/utils/data/_utils"
STANDARD = str(Path(importlib.__file__).parent.parent)

MODULES = {
    "read": "io _io os posix posixpath genericpath pathlib mmap socket _socket ssl _ssl http urllib urllib3 requests "
    "httpx aiohttp boto3 botocore s3fs fsspec gcsfs lmdb sqlite3 _sqlite3 shutil glob select selectors "
    "asyncio redis huggingface_hub",
    "decode": "zlib gzip bz2 _bz2 lzma _lzma zstandard lz4 snappy brotli blosc numcodecs json _json orjson simdjson csv _csv "
    "pickle _pickle _compat_pickle marshal struct _struct base64 binascii PIL._imaging PIL.ImageFile simplejpeg "
    "imagecodecs imageio tifffile turbojpeg soundfile wave audioread av decord pyarrow h5py zarr nibabel pydicom "
    "rasterio xml lxml yaml msgpack msgspec torchvision.io torchaudio.io torchcodec nvidia",
    "transform": "torchvision.transforms torchaudio.transforms torchaudio.functional albumentations kornia imgaug scipy "
    "skimage librosa PIL.ImageOps PIL.ImageFilter PIL.ImageEnhance tokenizers sentencepiece tiktoken transformers monai "
    "numba audiomentations torch_audiomentations",
}
NAMED = {
    "read": "open read readinto read_bytes read_text readline readlines recv recv_into fromfile memmap pread preadv stat "
    "listdir scandir glob iterdir exists is_file seek download urlopen get_object read1",
    "decode": "decompress decode imdecode imread decode_jpeg decode_png decode_image decode_gif loads frombytes "
    "from_bytes to_pylist to_pydict to_pandas to_numpy read_row_group read_row_groups read_table iter_batches "
    "read_parquet read_csv inflate crc32 unpack unpackb readframes fromstring genfromtxt loadtxt",
    "transform": "resize crop rotate flip normalize convert thumbnail paste filter warpAffine cvtColor "
    "GaussianBlur warpPerspective pad encode_batch tokenize batch_encode_plus transform augment jitter interpolate "
    "affine grid_sample",
}
"""Methods and functions by their last name, if the library is not known."""
FUNCTIONS = {
    "decode": r"decod|decompress|inflat|unpack|parse|deserial|unzip",
    "transform": r"transform|augment|normali[sz]|crop|resiz|flip|rotat|jitter|tokeni[sz]|preproc|scale|mixup|noise|"
    r"standardi[sz]|blur",
    "read": r"read|fetch|download|open|retriev|load|seek|request",
}
"""Common names of users' functions."""
WEAK = {
    "transform": "numpy torch math random _random array statistics cv2 PIL.Image",
}
HASHES = (zlib.crc32, zlib.adler32, binascii.crc32)
INFLATING = frozenset({"decompress", "inflate", "decompressobj"})
NO_READING = frozenset(
    [
        "write",
        "writelines",
        "flush",
        "fsync",
        "fdatasync",
        "fspath",
        "getpid",
        "urandom",
        "join",
        "split",
        "splitext",
        "basename",
        "dirname",
        "normpath",
        "relpath",
        "Path",
        "PosixPath",
        "PurePath",
    ]
)
"""Functions of modules that read which belong to no stage of loading."""
LOOKING_UP = frozenset(
    {"stat", "lstat", "listdir", "scandir", "glob", "iglob", "rglob", "iterdir", "walk", "exists", "isfile", "isdir"}
)
LOOKING_UP_FILES = frozenset({"genericpath.", "glob.", "pathlib."})
"""Modules whose functions look up files, if they are named so: others of `pathlib` only join and split texts."""
PATHS_LOOKED_UP = LOOKING_UP | {"is_file", "is_dir", "is_symlink", "resolve", "samefile", "glob1", "_glob1", "_iglob"}
PATHS_READ = PATHS_LOOKED_UP | {"open", "read_bytes", "read_text"}
LOCKING = frozenset({"acquire", "flock", "lockf"})
"""Calls on a user's line that wait for a lock."""
LOCK_FILES = dict.fromkeys(["multiprocessing.synchronize", "filelock", "portalocker", "fasteners"], "lock")
LOCK_FUNCTIONS = frozenset({"__enter__", "acquire", "lock"})
WAITS = frozenset({"sleep", "wait", "acquire", "poll", "select", "join", "get"})

_MODULE = {name: stage for stage, names in MODULES.items() for name in names.split()}
_CALLED = {name: stage for stage, names in NAMED.items() for name in names.split()}
_WEAK = {name: stage for stage, names in WEAK.items() for name in names.split()}
_FUNCTION = {stage: re.compile(words, re.IGNORECASE) for stage, words in FUNCTIONS.items()}


@dataclass(frozen=True)
class Place:
    """Where a cost arises: the innermost frame, and the user's line that led there."""

    function: str
    file: str
    line: int
    called_from: str | None


def place_of(stack: Stack) -> Place | None:
    """The innermost frame outside this package."""
    theirs = [f for f in stack if not f[0].startswith(OURS) and f"{FETCHING}/fetch" not in f[0]]
    if not theirs:
        return None
    file, line, function = theirs[0]
    users = next((f"{f}:{n}" for f, n, _ in theirs if is_users(f)), None)
    return Place(function, file, line, None if users == f"{file}:{line}" else users)


def is_overhead(stack: Stack) -> bool:
    """Whether the measuring itself was at work, in its own code or in what of the standard library that calls."""
    for file, _, _ in stack:
        if not file.startswith((STANDARD, "<")) or "site-packages" in file:
            return file.startswith(OURS)
    return False


def is_users(file: str) -> bool:
    return not file.startswith((PACKAGE, STANDARD, "<")) and "site-packages" not in file


class Namer:
    """Assigns stages; ``self.something`` on a line is looked up on ``dataset``."""

    def __init__(self, dataset: Any = None) -> None:
        self.objects: dict[str, Any] = {}
        for _ in range(8):
            if dataset is None:
                break
            for kind in type(dataset).__mro__:
                self.objects.setdefault(kind.__name__, dataset)
            dataset = getattr(dataset, "__dict__", {}).get("dataset")
        self._known: dict[Stack, str] = {}

    def stage_of(self, stack: Stack) -> str:
        """``read``, ``decode``, ``transform``, ``collate`` or ``unattributed``."""
        if stack not in self._known:
            self._known[stack] = self._name(stack)
        return self._known[stack]

    def traits(self, stack: Stack) -> tuple[bool, bool]:
        """Whether the innermost line decompresses data, and whether it looks up files."""
        frames = [f for f in stack if not f[0].startswith(OURS)]
        if not frames:
            return False, False
        file, line, _ = frames[0]
        names = {self._last_name(file, call) for call in calls(file, line)}
        system = any(module_name(f) in LOOKING_UP_FILES and name in PATHS_LOOKED_UP for f, _, name in frames)
        return bool(names & INFLATING), bool(names & LOOKING_UP) or system

    def locks(self, stack: Stack) -> bool:
        """Whether a stack is about to take a lock that processes share."""
        frames = [f for f in stack if not f[0].startswith(OURS)]
        if not frames:
            return False
        file, line, function = frames[0]
        if is_users(file):  # elsewhere it may wait for a thread or a queue
            return any(self._last_name(file, call) in LOCKING for call in calls(file, line))
        return function in LOCK_FUNCTIONS and _by_prefix(module_name(file), LOCK_FILES) is not None

    def _last_name(self, file: str, call: ast.Call) -> str:
        """A call's name in its library if that is known, else as written on the line."""
        dotted = dotted_name(call.func)
        target = None if dotted is None else _resolve(file, dotted)
        own = getattr(target, "__name__", None)
        if own is not None:
            return str(own)
        return call.func.attr if isinstance(call.func, ast.Attribute) else (dotted or "").rpartition(".")[2]

    def _name(self, stack: Stack) -> str:
        if any(f == "collate" and file.startswith(OURS) for file, _, f in stack):
            return "collate"
        frames = [f for f in stack if not f[0].startswith(OURS) and FETCHING not in f[0]]
        for depth, (file, line, function) in enumerate(frames):
            stage = _file_stage(file, function) or self._strong(file, line, innermost=depth == 0)
            if stage is not None:
                return stage
        for file, _, function in frames:
            if is_users(file):
                for stage, words in _FUNCTION.items():
                    if words.search(function):
                        return stage
        for file, line, _ in frames:
            stage = self._weak(file, line)
            if stage is not None:
                return stage
        return "unattributed"

    def _strong(self, file: str, line: int, innermost: bool) -> str | None:
        """The stage that a line's calls indicate; if they disagree, the most expensive, which is decoding.

        A call counts by its name alone only on the innermost line: further out it led to a frame already examined.
        """
        found = {s for call in calls(file, line) if (s := self._call_stage(file, call, innermost)) is not None}
        if innermost and self._maps(file, line):
            found.add("read")
        return next((s for s in ("decode", "read", "transform") if s in found), None)

    def _call_stage(self, file: str, call: ast.Call, by_name: bool) -> str | None:
        dotted = dotted_name(call.func)
        names = _CALLED if by_name else {}
        if dotted is None:
            return names.get(call.func.attr) if isinstance(call.func, ast.Attribute) else None
        target = _resolve(file, dotted)
        if target is not None:
            module = getattr(target, "__module__", None) or getattr(type(target), "__module__", "")
            own = f"{module}.{getattr(target, '__name__', '')}"
            stage = _by_prefix(own, _MODULE)
            if stage == "decode" and target in HASHES and in_loop(file, call):
                return "transform"  # of tokens, not of what was read
            if stage is not None:
                return None if own.rpartition(".")[2] in NO_READING else stage
            if is_users(getattr(sys.modules.get(str(module)), "__file__", None) or ""):
                return None  # the user's own function is judged by its own frames
        return names.get(dotted.rpartition(".")[2])

    def _maps(self, file: str, line: int) -> bool:
        """Whether a line reads from a memory map that the dataset holds."""
        for node in _nodes(file, line):
            if isinstance(node, ast.Subscript):
                value = self._attribute(node.value)
                if type(value).__name__ in ("memmap", "mmap"):
                    return True
        return False

    def _attribute(self, node: ast.AST) -> Any:
        """The value of ``self.a.b``, from instance dictionaries, so that no user code runs."""
        if isinstance(node, ast.Subscript):
            held = self._attribute(node.value)
            return next(iter(held), None) if isinstance(held, list | tuple) else None
        if not isinstance(node, ast.Attribute):
            return None
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            return next((v.__dict__[node.attr] for v in self.objects.values() if _holds(v, node.attr)), None)
        owner = self._attribute(node.value)
        return owner.__dict__[node.attr] if _holds(owner, node.attr) else None

    def _weak(self, file: str, line: int) -> str | None:
        for call in calls(file, line):
            dotted = dotted_name(call.func)
            target = None if dotted is None else _resolve(file, dotted)
            module = f"{getattr(target, '__module__', None) or type(target).__module__}." if target is not None else ""
            if dotted is not None and dotted.rpartition(".")[2] in WAITS:
                return None
            stage = _by_prefix(module, _WEAK)
            if stage is not None:
                return stage
        if _by_prefix(module_name(file), _WEAK) is not None:
            return "transform"
        if any(isinstance(n, ast.BinOp | ast.AugAssign) for n in _nodes(file, line)) and is_users(file):
            return "transform"
        return None


def _file_stage(file: str, function: str) -> str | None:
    """The stage of a library's Python file."""
    if is_users(file):
        return None
    module = module_name(file)
    if module == "pathlib.":  # what it does not ask the system for is work with texts
        return "read" if function in PATHS_READ else None
    return _by_prefix(module, _FILES)


_FILES = {
    **{n: s for n, s in _MODULE.items() if s == "transform"},
    **dict.fromkeys(
        ["json", "csv", "pickle", "gzip", "bz2", "lzma", "pyarrow", "h5py", "zarr", "wave", "xml", "yaml", "av"],
        "decode",
    ),
    **dict.fromkeys(
        [
            "socket",
            "ssl",
            "http",
            "urllib",
            "urllib3",
            "requests",
            "httpx",
            "aiohttp",
            "boto3",
            "botocore",
            "s3fs",
            "asyncio",
        ],
        "read",
    ),
    **dict.fromkeys(["selectors", "glob", "fsspec"], "read"),
}
"""Libraries whose Python files do one thing, whatever is on the line."""


@functools.lru_cache(4096)
def module_name(file: str) -> str:
    """The module of a library's file with a dot, such as ``PIL.ImageFile.``, for prefixes."""
    path = file.replace("\\", "/")
    at = path.rfind("site-packages/")
    inner = path[at + 14 :] if at >= 0 else path[len(STANDARD) :].lstrip("/") if path.startswith(STANDARD) else ""
    return inner.removesuffix(".py").removesuffix("/__init__").replace("/", ".") + "."


def _by_prefix(name: str, table: dict[str, str]) -> str | None:
    """The stage of the longest dotted prefix in the table."""
    parts = name.strip(".").split(".")
    return next((table[p] for n in range(len(parts), 0, -1) if (p := ".".join(parts[:n])) in table), None)


def _holds(owner: Any, name: str) -> bool:
    return name in getattr(owner, "__dict__", {})


@functools.lru_cache(4096)
def _nodes(file: str, line: int) -> list[ast.AST]:
    """The expressions on a line: of each statement on the line or spanning it those that begin or end there."""
    return [
        node
        for node in nodes_around(file, line)
        if isinstance(node, ast.Call | ast.Subscript | ast.BinOp | ast.AugAssign)
        and line in (node.lineno, node.end_lineno)
    ]


def calls(file: str, line: int) -> Iterator[ast.Call]:
    for node in _nodes(file, line):
        if isinstance(node, ast.Call):
            yield node


def called_on(file: str, line: int) -> list[str]:
    """What a line calls, as it is written there: names with their modules, and of what is called on a result the method alone."""
    found = sorted({(c.end_lineno or 0, c.end_col_offset or 0): c for c in calls(file, line)}.items())
    names = (dotted_name(c.func) or (f".{c.func.attr}" if isinstance(c.func, ast.Attribute) else "") for _, c in found)
    return list(dict.fromkeys(name for name in names if name))


def only_indexes(file: str, line: int) -> bool:
    """Whether a line takes something out of what is held and does nothing else, which is what loading is."""
    there = _nodes(file, line)
    return bool(there) and all(isinstance(node, ast.Subscript) for node in there) and not _comprehensions(file, line)


def takes_whole(file: str, line: int) -> bool:
    """Whether a line takes all of something that is stored (``file['x'][:]``, ``numpy.array(file['x'])``), or does not say what it takes."""
    there = _nodes(file, line)
    subscripts = [node for node in there if isinstance(node, ast.Subscript)]
    names = [n for n in subscripts if isinstance(n.slice, ast.Constant) and n.slice.value is not ...]
    some = [node for node in subscripts if node not in names]  # a name picks a stored array
    made = any(isinstance(node.value, ast.Call) for node in some)  # such as numpy.array(file['x'])[i]
    return made or not some or any(ast.unparse(node.slice) in (":", "...", "()") for node in some)


def running_calls(file: str, line: int, columns: Columns | None, inner: bool) -> list[ast.Call]:
    """The call that a frame waits for at a line, if that is known or can be no other; else none.

    Args:
        columns: the part of the source that the frame executes, where the interpreter tells it: then the call is known.
        inner: whether the frame is that of a comprehension or generator, which older interpreters run in one of its own.
    """
    there = list(calls(file, line))
    if columns is not None:
        first, last, begin, end = columns
        return [
            call
            for call in there
            if (call.end_lineno, call.end_col_offset) == (last, end)
            and (call.lineno, call.col_offset) in ((first, begin), (call.lineno, begin))
        ][:1]
    within = {id(node) for loop in _comprehensions(file, line) for node in ast.walk(loop)}
    there = [call for call in there if (id(call) in within) == inner]
    return there if len({id(call) for call in there}) == 1 else []


def after_error(file: str, call: ast.Call) -> bool:
    """Whether a call is made once something has raised: in an ``except`` block, or in a loop that tries something."""
    there = [
        node
        for node in nodes_around(file, call.lineno)
        if isinstance(node, ast.ExceptHandler | ast.For | ast.While | ast.AsyncFor)
        and node.lineno <= call.lineno <= (node.end_lineno or node.lineno)
    ]
    return any(
        any(inner is call for inner in ast.walk(node))
        and (isinstance(node, ast.ExceptHandler) or any(isinstance(inner, ast.Try) for inner in ast.walk(node)))
        for node in there
    )


def patterns_of(file: str, call: ast.Call) -> int:
    """Compiled regular expressions that a loop around a call goes through, where the call matches one; 0 if it is of another kind."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in MATCHING:
        return 0
    most = 0
    for loop in _loops(file, call.lineno):
        if isinstance(loop, ast.While):
            continue
        iterated = [loop.iter] if isinstance(loop, ast.For) else [one.iter for one in loop.generators]
        for node in iterated:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                node = node.func.value  # such as of items()
            dotted = dotted_name(node)
            held = None if dotted is None else _resolve(file, dotted)
            if isinstance(held, list | tuple | dict) and any(inner is call for inner in ast.walk(loop)):
                most = max(most, sum(map(_has_pattern, held.items() if isinstance(held, dict) else held)))
    return most


MATCHING = frozenset({"match", "search", "fullmatch", "sub", "subn", "findall", "finditer", "split"})


def _has_pattern(entry: Any) -> bool:
    return isinstance(entry, re.Pattern) or (isinstance(entry, tuple) and any(isinstance(e, re.Pattern) for e in entry))


def sleeping(file: str, line: int, columns: Columns | None, inner: bool) -> ast.Call | None:
    """The call of ``time.sleep`` that a frame waits in, if it is in one."""
    there = running_calls(file, line, columns, inner)
    if not there and columns is None:
        there = [
            call for call in calls(file, line) if target_of(file, call) == "time.sleep"
        ]  # beside it little takes long
    return next((call for call in there if target_of(file, call) == "time.sleep"), None)


def in_loop(file: str, call: ast.Call) -> bool:
    """Whether a call is made for each of several values, in a loop or a comprehension."""
    return any(
        any(
            inner is call
            for part in (loop.body if isinstance(loop, ast.For | ast.While) else [loop])
            for inner in ast.walk(part)
        )
        for loop in _loops(file, call.lineno)
    )


Loop = ast.For | ast.While | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def _loops(file: str, line: int) -> list[Loop]:
    """The loops around a line."""
    return [
        node
        for node in nodes_around(file, line)
        if isinstance(node, Loop) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]


def _comprehensions(file: str, line: int) -> list[Loop]:
    return [loop for loop in _loops(file, line) if not isinstance(loop, ast.For | ast.While)]


def dotted_name(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inner = dotted_name(node.value)
        return None if inner is None else f"{inner}.{node.attr}"
    return None


@functools.lru_cache(1024)
def _module_of(file: str) -> Any:
    return next((m for m in list(sys.modules.values()) if getattr(m, "__file__", None) == file), None)


def target_of(file: str, call: ast.Call) -> str:
    """The module and name of what a call on a line refers to; empty if that is not known."""
    dotted = dotted_name(call.func)
    target = None if dotted is None else _resolve(file, dotted)
    if dotted is not None and isinstance(target, staticmethod | classmethod | ClassMethodDescriptorType):
        owner = _resolve(file, dotted.rpartition(".")[0])  # what is compiled says no module of its own
        return f"{owner.__module__}.{owner.__qualname__}.{dotted.rpartition('.')[2]}"
    module = getattr(target, "__module__", None) or getattr(target, "__self__", None)
    module = getattr(module, "__name__", module)
    return f"{module}.{getattr(target, '__name__', '')}" if target is not None else ""


def _resolve(file: str, dotted: str) -> Any:
    """What a dotted name at the top level of a file's module refers to, without running user code."""
    first, *rest = dotted.split(".")
    module = _module_of(file)
    if module is None:
        return None
    scope = getattr(module, "__dict__", {})
    builtins = scope.get("__builtins__", {})
    found = scope.get(first, (builtins if isinstance(builtins, dict) else builtins.__dict__).get(first))
    for name in rest:
        if found is None:
            return None
        found = getattr(found, "__dict__", {}).get(name)
    return found
