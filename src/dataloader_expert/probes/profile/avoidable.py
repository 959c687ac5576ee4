"""Work at the user's own lines that need not be done for each sample: objects copied, text parsed, processes and threads started,
lists searched.

It is told by the library function that a stack leads to from the user's innermost line, or by the call that this line is in if
that is of compiled code; else by the loop in Python around the line (``python_loops``). What a line computes as arguments of a
call is none of the call's time: which part of the line is executed is known from the stack (columns), and where it is not, only
a line with one call is told by it.
"""

from __future__ import annotations

import ast
import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from dataloader_expert.conclusions import MAX_PLACES
from dataloader_expert.facts import Fact, Quantity
from dataloader_expert.probes.base import evidence
from dataloader_expert.probes.profile.hotspots import INNER, Weighed
from dataloader_expert.probes.profile.python_loops import lines_of, loop_of
from dataloader_expert.probes.profile.remote_stack import Columns, Stack
from dataloader_expert.probes.profile.stage_classifier import (
    FETCHING,
    OURS,
    after_error,
    in_loop,
    is_users,
    module_name,
    patterns_of,
    running_calls,
    sleeping,
    target_of,
)
from dataloader_expert.probes.serving import Serving

AVOIDABLE = Quantity("avoidable", "", "work that need not be done for each sample, with its share of a sample's time")
LEAST, LEAST_NEEDLESS = 0.1, 0.03
"""The least share of a sample's time that is told, and that of work which is left out at no cost."""
CHEAPLY = frozenset({"copies", "syncs", "collects", "logs", "formats", "compiles", "loaders", "manager", "threads"})
"""Work that no sample needs."""
LEAST_S = 5e-5
"""The least seconds of a sample that are told: several times what a loader itself takes for it."""
CONVERTS = 0.3
"""The least share of ``torch.tensor`` that is told: arrays are copied quickly."""
LINE_MOST_S, LINES_LEAST = 20e-6, 100
"""The longest that a line takes in a loop over single values, on average (an element of a tensor is read in 3 us and written in 5),
and the fewest lines that it runs; lines that compute with arrays take longer."""
LOOPS_MOST = 4
"""The most loops whose lines are counted."""

Place = tuple[str, str, int]
"""File, function, and line; of a loop the first."""
EVERY = frozenset[str]()
"""Whatever function of the module."""
LABELS = frozenset({"get_loc", "get_locs", "get_indexer", "get_indexer_for", "get_indexer_non_unique", "slice_indexer"})
"""What finds rows by their labels in an index."""
INDEXES = "pandas.core.indexes."
WHOLE_TABLES = tuple(f"pandas.core.{part}" for part in ("groupby", "window", "resample", "reshape", "sorting"))
"""Where pandas groups, joins, sorts and takes windows: what its time goes to are the rows, not the operation."""
JOINING = frozenset(
    [
        "__new__",
        "__init__",
        "__truediv__",
        "__rtruediv__",
        "__eq__",
        "__hash__",
        "__str__",
        "__fspath__",
        "joinpath",
        "with_name",
        "with_suffix",
        "relative_to",
    ]
)
"""What of `pathlib` makes and compares paths, and asks the system for nothing."""
LIBRARIES: dict[str, tuple[str, frozenset[str]]] = {
    "copy": ("copies", EVERY),
    "subprocess": ("processes", EVERY),
    "multiprocessing.process": ("processes", frozenset({"start"})),
    "multiprocessing.pool": ("threads", frozenset({"__init__", "_terminate_pool"})),
    "multiprocessing.managers": ("manager", EVERY),
    "threading": ("threads", frozenset({"start"})),
    "torch.utils.data.dataloader": ("loaders", EVERY),
    "numpy.core.arrayprint": ("formats", EVERY),
    "numpy._core.arrayprint": ("formats", EVERY),
    "torch._tensor_str": ("formats", EVERY),
    "json": ("parses", frozenset({"load", "loads"})),
    "json.decoder": ("parses", EVERY),
    "xml.etree.ElementTree": ("parses", EVERY),
    "yaml": ("parses", EVERY),
    "csv": ("parses", EVERY),
    "pandas.io.parsers.readers": ("parses", EVERY),
    "re._compiler": ("compiles", EVERY),
    "gzip": ("rewinds", frozenset({"seek", "rewind"})),
    "bz2": ("rewinds", frozenset({"seek"})),
    "lzma": ("rewinds", frozenset({"seek"})),
    "zipfile": ("lists", frozenset({"__init__"})),
    "tarfile": ("lists", frozenset({"__init__", "getmembers", "getmember", "getnames", "_getmember", "_load"})),
    "ssl": ("connects", frozenset({"do_handshake"})),
    "pandas.core.frame": ("selects", frozenset({"_getitem_bool_array", "query"})),
    "pandas.core.series": ("selects", frozenset({"_cmp_method", "isin"})),
    "pandas.core.indexing": ("rows", EVERY),
    "pandas.core.indexes.base": ("labels", LABELS),
    "pandas.core.indexes.multi": ("labels", LABELS),
    "pandas.core.tools.datetimes": ("dates", EVERY),
    "_strptime": ("dates", EVERY),
    "dateutil.parser._parser": ("dates", EVERY),
    "re": ("matches", frozenset({"match", "search", "fullmatch", "sub", "subn", "findall", "finditer", "split"})),
    "torch.nn.modules.conv": ("models", EVERY),
    "torch.nn.modules.linear": ("models", EVERY),
    "torch.nn.modules.rnn": ("models", EVERY),
    "torch.nn.modules.transformer": ("models", EVERY),
    "torch.nn.modules.batchnorm": ("models", EVERY),
    "pathlib": ("paths", JOINING),
    "torch.hub": ("loads", frozenset({"load"})),
    "timm.models._factory": ("loads", frozenset({"create_model"})),
    "sentence_transformers.SentenceTransformer": ("loads", frozenset({"__init__"})),
    "spacy": ("loads", frozenset({"load"})),
    "tiktoken.registry": ("loads", frozenset({"get_encoding"})),
    "transformers.tokenization_utils_base": ("loads", frozenset({"from_pretrained"})),
    "transformers.modeling_utils": ("loads", frozenset({"from_pretrained"})),
    "socket": ("connects", frozenset({"create_connection", "getaddrinfo"})),
    "logging": ("logs", frozenset({"_log"})),
    "tqdm.std": ("logs", frozenset({"write", "refresh"})),
}
"""By module: the kind of work, and the functions that do it."""
COMPILED = {
    "gc.collect": "collects",
    "builtins.print": "logs",
    "posix.fsync": "syncs",
    "posix.fdatasync": "syncs",
    "torch.jit._serialization.load": "loads",
    "_sqlite3.connect": "connects",
    "orjson.loads": "parses",
    "_pickle.load": "unpickles",  # looked for on the user's lines: nothing is unpickled here
    "_pickle.loads": "unpickles",
    "torch.tensor": "converts",
    "_hashlib.openssl_md5": "hashes",
    "_hashlib.openssl_sha1": "hashes",
    "_hashlib.openssl_sha256": "hashes",
    "_blake2.blake2b": "hashes",
    "zlib.crc32": "hashes",
    "tokenizers.Tokenizer.from_file": "loads",
    "tokenizers.Tokenizer.from_str": "loads",
    "tokenizers.Tokenizer.from_pretrained": "loads",
    "sentencepiece.SentencePieceProcessor": "loads",
}
PATTERNS = 8
"""The fewest regular expressions matched one after another that are told as that."""
METHODS = {"index": "searches"}
"""Methods of a list by name, on a line that computes for long by itself."""


def avoidable(
    served: Serving, stacks: Weighed, seen: int, sample_s: float, columns: Sequence[Columns | None] = ()
) -> Iterator[Fact]:
    """What takes at least a tenth of a sample's time; ``seen``: stacks; ``sample_s``: seconds of a sample without waiting for a core;
    ``columns``: for each stack the part of its source that the innermost frame executes."""
    spent: defaultdict[str, defaultdict[Place, float]] = defaultdict(lambda: defaultdict(float))
    """Shares by kind and place."""
    for (stack, share), part in itertools.zip_longest(stacks, columns[: len(stacks)]):
        work = work_of(stack, part)
        if work is not None:
            spent[work[0]][work[1:]] += share
    told: list[dict[str, Any]] = []
    for kind, places in spent.items():
        lines: Counter[Place] = Counter()
        kept = dict(places)
        least = LEAST_NEEDLESS if kind in CHEAPLY else LEAST
        if kind == "loops" and _matters(sum(places.values()), sample_s, least):
            for place in sorted(places, key=lambda one: -places[one])[:LOOPS_MOST]:
                lines[place] = lines_of(served, place[0], place[2], sample_s)
            kept = {
                p: s for p, s in places.items() if lines[p] >= LINES_LEAST and s * sample_s < LINE_MOST_S * lines[p]
            }
        whole = sum(kept.values())
        if _matters(whole, sample_s, least) and (kind != "converts" or whole >= CONVERTS):
            at = [{"file": f, "line": n, "function": name} for f, name, n in sorted(kept, key=lambda p: -kept[p])]
            share = round(min(1.0, whole), 4)
            told.append({"kind": kind, "share": share, "places": at[:MAX_PLACES], "lines": sum(lines[p] for p in kept)})
    told.sort(key=lambda work: work["share"], reverse=True)
    yield Fact(AVOIDABLE, told, evidence("sampled", "stages", seen=seen))


def _matters(share: float, sample_s: float, least: float) -> bool:
    return share >= least and share * sample_s >= LEAST_S


def work_of(stack: Stack, columns: Columns | None = None) -> tuple[str, str, str, int] | None:
    """The kind of work that a stack does for the user's innermost line, and where that is."""
    inner = [frame for frame in stack if not frame[0].startswith(OURS)]
    at = next((k for k, frame in enumerate(inner) if is_users(frame[0])), None)
    if at is None or not any(FETCHING in frame[0] for frame in inner[at:]):
        return None
    file, line, function = inner[at]
    function = next((f for _, _, f in inner[at:] if f not in INNER), function)
    if any(f == "__len__" and is_users(of) for of, _, f in inner):
        file, line, function = next(frame for frame in inner if frame[2] == "__len__" and is_users(frame[0]))
        return "length", file, function, line
    slept = sleeping(inner[0][0], inner[0][1], columns, inner[0][2] in INNER)
    if slept is not None and after_error(inner[0][0], slept):
        return "retries", file, function, line
    modules = [module_name(name) for name, _, _ in inner[:at]]
    for module, (_, _, f) in zip(reversed(modules), reversed(inner[:at]), strict=True):
        kind, functions = LIBRARIES.get(module.rstrip("."), ("", EVERY))
        if kind and (functions is EVERY or f in functions):
            if kind == "matches" and any(n == "_compile" for _, _, n in inner[:at]):
                kind = "compiles"  # of a pattern that is not, or no longer, in the cache of `re`
            if kind in ("rows", "labels"):  # compiled code compares labels; of a few, what is around it takes longer
                kind = "labels" if modules[0].startswith(INDEXES) and inner[0][2] in LABELS else "rows"
            return kind, file, function, line
    if any(module.startswith("pandas.core.") for module in modules):
        whole = any(module.startswith(WHOLE_TABLES) for module in modules)
        return "tables" if whole else "rows", file, function, line
    if at:
        return None
    compiled = _compiled(file, line, columns, inner[0][2] in INNER)
    if compiled is not None:
        return compiled, file, function, line
    loop = loop_of(file, line)
    return None if loop is None else (loop[0], file, function, loop[1])


def _compiled(file: str, line: int, columns: Columns | None, inner: bool) -> str | None:
    for call in running_calls(file, line, columns, inner):
        found = COMPILED.get(target_of(file, call))
        if found == "hashes" and in_loop(file, call):
            return None  # of many values, such as tokens: no checksum of what was read
        if patterns_of(file, call) >= PATTERNS:
            return "patterns"
        method = call.func if isinstance(call.func, ast.Attribute) else None
        if method is not None and method.attr == "choice" and any(k.arg == "p" for k in call.keywords):
            found = "draws"
        if found is None and method is not None and target_of(file, call) == "":
            found = METHODS.get(method.attr)
        if found is not None:
            return found
    return None
