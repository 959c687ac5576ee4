"""How the user's own dataset or DataLoader is made without this package, for code that is returned: what is imported, and what is called.

Runs in the user's interpreter: standard library only.
"""

from __future__ import annotations

import ast
import keyword
import os
import sys
from collections.abc import Mapping
from importlib.machinery import PathFinder
from typing import Any, NamedTuple

from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.placed import Place, place_of
from dataloader_expert.sources.split_datasets import called_for_each

CALLED, HEAD = "your_code", "def training_loader(**arguments):"
"""What the user's module is called in the code, and how the function begins that makes a data module's loader."""


class How(NamedTuple):
    """``called``: a class or function, rather than an object; ``setup``: a data module's loader is what is measured, and the module is set
    up for it, or needs not be; None of others."""

    called: bool
    setup: bool | None = None


class Again(NamedTuple):
    """Ready for JSON. ``folder``: to which paths in the user's code are relative; ``paths``: for ``sys.path``; ``module``: the one to import;
    ``define``: lines to put behind its import; ``made``: expressions, of splits by name, else one whose name is empty; ``train``: that of
    the training split."""

    folder: str
    paths: list[str]
    module: str
    define: list[str]
    made: dict[str, str]
    train: str

    def imported(self) -> list[str]:
        """Lines that import the user's module; they need ``os`` and ``sys``."""
        return [
            f"os.chdir({self.folder!a})  # paths in your code may be relative to it",
            f"sys.path[:0] = {self.paths!a}",
            f"import {self.module} as {CALLED}  # noqa: E402  # found by the line above",
            *(["", "", *self.define, ""] if self.define[:1] == [HEAD] else ["", *self.define] if self.define else []),
        ]


def made_again(ref: SourceRef, how: How, parts: Mapping[Any, Any], part: str | None) -> Again | None:
    """``parts``: the datasets of the splits that are made together; ``part``: the one for training, or asked for. None where plain code
    would import or call something else."""
    where, _, attribute = ref.name.rpartition(":")
    place = place_of(where, ref.roots)
    module = imported_as(place)
    names = (attribute, *ref.args)
    plain = all(name.isidentifier() and not keyword.iskeyword(name) for name in names)
    if module is None or not plain or not all(map(_is_literal, ref.args.values())):
        return None
    if any(type(key) is not str for key in parts):  # of an enumeration, say: a text is another key
        return None
    target, of_split = f"{CALLED}.{attribute}", called_for_each(ref.args)
    define: list[str] = []
    if how.setup is not None:
        setup = ['    module.setup("fit")'] if how.setup else []
        made_module = f"    module = {target}(**arguments)" if how.called else f"    module = {target}"
        define = [HEAD, made_module, *setup, "    return module.train_dataloader()"]
        target = "training_loader"

    def call(args: Mapping[str, Any]) -> str:
        given = ", ".join(f"{name}={value!a}" for name, value in args.items())
        return f"{target}({given})" if how.called or define else target

    if of_split:
        made = {name: call(args) for name, args in of_split.items()}
    elif part is not None:  # called once: it may draw the splits anew each time
        define += [f"splits = {call(ref.args)}"]
        made = {name: f"splits[{name!a}]" for name in parts}
    else:
        made = {"": call(ref.args)}
    if ref.split is not None:
        made = {ref.split: made[ref.split]}
    return Again(str(place.root), place.folders, module, define, made, part or "")


def _is_literal(value: Any) -> bool:
    """Whether what is written of it is equal to it when read: NaN and infinity are not."""
    try:
        return bool(ast.literal_eval(ascii(value)) == value)
    except (ValueError, SyntaxError):
        return False


def imported_as(place: Place) -> str | None:
    """The name by which a plain script imports the file, once its folders are on ``sys.path``; None if that leads elsewhere."""
    paths = [*place.folders, *(path for path in sys.path if path not in place.folders)]
    for dotted in dict.fromkeys((place.dotted, place.path.stem)):
        names = dotted.split(".")
        named = all(name.isidentifier() and not keyword.iskeyword(name) for name in names)
        if not named or names[0] in sys.stdlib_module_names:
            continue  # Python, or torch, may have imported its own of that name before
        found = _file_of(names, paths)
        if found is not None and os.path.realpath(found) == os.path.realpath(place.path):
            return dotted
    return None


def _file_of(names: list[str], paths: list[str]) -> str | None:
    """The file that a module's dotted name leads to; None if there is none."""
    within: list[str] | None = paths
    spec = None
    for k in range(len(names)):
        try:
            spec = None if within is None else PathFinder.find_spec(".".join(names[: k + 1]), within)
        except KeyError:  # of a folder without __init__.py in one that was not imported
            return None
        within = None if spec is None or spec.submodule_search_locations is None else [*spec.submodule_search_locations]
    return None if spec is None else spec.origin
