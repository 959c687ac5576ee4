"""Reading NPZ archives, without unpickling; each error names the file."""

from __future__ import annotations

import configparser
import pickletools
import zipfile
import zlib
from ast import literal_eval
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np


def files_below(root: Path, pattern: str, suffixes: Iterable[str] | str = (".npz",)) -> list[Path]:
    """Sorted files that match ``pattern`` and end in one of ``suffixes``, in any case; none: a ``ValueError``."""
    if not root.is_dir():
        raise FileNotFoundError(f"directory not found: {root}")
    wanted = {s.lower() for s in ([suffixes] if isinstance(suffixes, str) else suffixes)}
    found = sorted(p for p in root.glob(pattern) if p.is_file() and p.suffix.lower() in wanted)
    if not found:
        raise ValueError(f"no files ending in {', '.join(sorted(wanted))} in {root}")
    return found


def read_array(path: Path, key: str) -> Any:
    """One array of an archive, as stored.

    Raises:
        KeyError: if the archive has no such array; the message names those that it has.
        ValueError: if it is not an archive, is damaged, or holds Python objects, which are never unpickled.
    """
    try:
        # Opened here: numpy leaves the file of a broken archive open.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            if key not in archive.files:
                raise KeyError(f"{path} has no array {key!r}; it has {', '.join(archive.files) or 'none'}")
            return archive[key]
    except (zipfile.BadZipFile, EOFError, OSError, ValueError, zlib.error) as error:
        raise ValueError(f"{path} could not be read: {error}") from error
    except (AttributeError, TypeError) as error:  # an .npy file: an array, no archive
        raise ValueError(f"{path} is not an NPZ archive") from error


def read_strings(path: Path, key: str) -> list[str] | None:
    """Strings of an archive's array, also of one saved as Python objects; None if it has no strings.

    Such an array is a pickle, whose opcodes are read as data: nothing is built or called.
    """
    try:
        return [str(s) for s in np.atleast_1d(read_array(path, key)).tolist()]
    except KeyError:
        return None
    except ValueError:
        with zipfile.ZipFile(path) as archive, archive.open(f"{key}.npy") as member:
            version = np.lib.format.read_magic(member)
            header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, dtype = header(member)
            if dtype.hasobject and len(shape) <= 1:
                return _listed_strings(member.read(), shape[0] if shape else 1)
        return None


def _listed_strings(pickled: bytes, count: int) -> list[str] | None:
    """The last list of ``count`` strings in the pickle, with repeated ones from its memo."""
    memo: dict[int, str | None] = {}
    found: list[str] = []
    last: str | None = None
    try:
        for opcode, argument, _ in pickletools.genops(pickled):
            name = opcode.name
            if "UNICODE" in name:
                last = str(argument)
                found.append(last)
            elif name == "MEMOIZE":
                memo[len(memo)] = last
            elif name in ("BINPUT", "LONG_BINPUT", "PUT"):
                memo[int(argument or 0)] = last
            elif name in ("BINGET", "LONG_BINGET", "GET"):
                last = memo.get(int(argument or 0))
                if last is not None:
                    found.append(last)
            else:
                last = None
                if name == "EMPTY_LIST":
                    found = []
    except ValueError:
        return None
    return found if len(found) == count else None


def section(config: str | Path, name: str) -> dict[str, Any]:
    """A section of an INI file, else a ``KeyError``; values are Python literals if possible; read on each call."""
    parser = configparser.ConfigParser()
    if not parser.read(config, encoding="utf-8"):
        raise FileNotFoundError(f"config file not found: {config}; pass root_dir instead, or the file's path")
    if name not in parser:
        raise KeyError(f"{config} has no section [{name}]; it has {', '.join(parser.sections())}")
    return {key: _literal(value) for key, value in parser[name].items()}


def _literal(value: str) -> Any:
    try:
        return literal_eval(value)
    except (ValueError, SyntaxError):
        return value
