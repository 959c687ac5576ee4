"""How the user's own dataset or DataLoader is made without this package, for code that is returned: what is imported, and what is called.

Runs in the user's interpreter: standard library only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.placed import place_of
from dataloader_expert.sources.split_datasets import called_for_each

CALLED = "your_code"
"""What the user's module is called in the code."""


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
            *(["", "", *self.define] if self.define else []),
        ]


def made_again(ref: SourceRef, how: How, parts: Mapping[str, Any], part: str | None) -> Again | None:
    """``parts``: the datasets of the splits that are made together; ``part``: the one for training, or asked for. None where something is
    called what no Python code can call it."""
    where, _, attribute = ref.name.rpartition(":")
    place = place_of(where, ref.roots)
    if not all(name.isidentifier() for name in (*place.dotted.split("."), attribute, *ref.args)):
        return None
    of_split = called_for_each(ref.args)
    target = f"{CALLED}.{attribute}"

    def call(args: Mapping[str, Any]) -> str:
        return f"{target}({', '.join(f'{k}={v!a}' for k, v in args.items())})" if how.called else target

    define: list[str] = []
    if of_split:
        made = {name: call(args) for name, args in of_split.items()}
    elif how.setup is not None:
        setup = ['    module.setup("fit")'] if how.setup else []
        define = [
            "def training_loader():",
            f"    module = {call(ref.args)}",
            *setup,
            "    return module.train_dataloader()",
        ]
        made = {"": "training_loader()"}
    else:
        whole = call(ref.args)
        made = {name: f"{whole}[{name!a}]" for name in parts} if part is not None else {"": whole}
    if ref.split is not None:
        made = {ref.split: made[ref.split]}
    return Again(str(place.root), place.folders, place.dotted, define, made, part or "")
