"""Python references: the user's own Dataset or DataLoader, imported and called in the measuring child.

Runs in the user's interpreter: standard library, numpy and torch only.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import sys
import traceback
import types
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dataloader_expert.errors import RequestError, escaped, listed
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.arrays import modality_of
from dataloader_expert.sources.as_constructed import Before, Made
from dataloader_expert.sources.base import Block, Column, Source, Unit
from dataloader_expert.sources.given import noted
from dataloader_expert.sources.items import items_of
from dataloader_expert.sources.label_names import is_no_class, label_by_name
from dataloader_expert.sources.made_again import Again, How, made_again
from dataloader_expert.sources.opened import below
from dataloader_expert.sources.placed import place_of
from dataloader_expert.sources.split_datasets import NAMES, Joined, dataset_of, loaded, one_of, parts_of, training_of
from dataloader_expert.sources.table_fields import field_of
from dataloader_expert.sources.users import is_users

if TYPE_CHECKING:
    from dataloader_expert.sources.files import Listing


class Raised(Exception):
    """The user's code raised. ``str()`` gives the error and the user's own frames, without ours."""

    def __init__(self, error: BaseException, sample: int | None = None) -> None:
        self.error, self.sample = error, sample
        at = f" at sample {sample}" if sample is not None else ""
        super().__init__(f"{type(error).__name__}{at}: {escaped(error, 300)}{user_frames(error)}")


def user_frames(error: BaseException, most: int = 6) -> str:
    """The user's own last frames of the traceback, outermost first: `` (file:line in f: code > …)``."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if is_users(f.filename)]
    return in_brackets([f"{f.filename}:{f.lineno} in {f.name}: {escaped(f.line or '', 100)}" for f in frames[-most:]])


def in_brackets(frames: list[str]) -> str:
    return f" ({' > '.join(escaped(f, 300) for f in frames)})" if frames else ""


class Reference(Source):
    """Attributes: ``dataset`` is the user's dataset, ``loader`` their DataLoader, if that was named."""

    format = "reference"
    kinds = frozenset()
    dataset: Any
    loader: Any = None

    parts: Mapping[str, Any] = MappingProxyType({})
    """The datasets or loaders of several splits, if they were named together."""
    joined: Joined | None = None
    """These as one dataset, which is then ``dataset``."""
    again: Again | None = None
    """How it is made without us; None where plain code would import or call something else."""
    before: Before
    """What the dataset and the user's modules held before anything was read."""

    def as_loaded(self) -> None:
        """Takes back what reading opened in this process: in training each worker opens it for itself."""
        self.before.close()

    def filled(self) -> Made:
        """What reading made in this process and keeps, such as an index: in training each worker makes it for itself."""
        return self.before.made()

    @property
    def training_part(self) -> Any:
        """The dataset or loader to train on, where there are several."""
        alone = self.dataset if self.loader is None else self.loader  # of a stream, a loader's truth value raises
        return self.parts[training_of(self.parts, None)] if self.parts else alone

    @property
    def training_loader(self) -> Any:
        """The user's loader for training; None without one."""
        return self.training_part if hasattr(self.training_part, "collate_fn") else None

    @property
    def unstacked(self) -> bool:
        """Whether the user's loader stacks nothing (``batch_size=None``): what its dataset makes is batches, of which the last may be smaller."""
        loader = self.training_loader
        return loader is not None and loader.batch_size is None and getattr(loader, "batch_sampler", None) is None

    @property
    def collates(self) -> bool:
        """Whether the user's loader has a collate function of its own, which may drop samples."""
        function = getattr(self.training_loader, "collate_fn", None)
        return function is not None and not str(getattr(function, "__module__", "")).startswith("torch.utils.data")

    @classmethod
    def open(cls, listing: Listing, ref: SourceRef) -> Source:
        source = cls()
        setups: list[bool | None] = []
        with noted():
            target = named(ref.name, ref.roots)

            def load_one(args: dict[str, Any]) -> Any:
                made = made_of(target, ref.name, args)
                setups.append(callable(getattr(made, "setup", None)) if gives_loaders(made) else None)
                return training_loader(made, ref.name)

            made = loaded(ref.name, ref.args, load_one)
        parts = parts_of(made)
        if parts and ref.split is None:
            source.parts, source.joined = parts, Joined(parts, ref.name)
            made = source.joined.dataset
        elif ref.split is not None:
            made = one_of(parts, ref.split, ref.name)
        source._of(made, ref)
        train = training_of(parts, ref.train if ref.train in parts else None) if parts else None
        source.again = made_again(ref, How(is_called(target), setups[0]), parts, ref.split or train)
        return source

    def only_training(self, ref: SourceRef) -> None:
        """Leaves the training split alone, where there are several: with the user's loader, if it has one."""
        if self.parts:
            made = self.parts[training_of(self.parts, ref.train)]
            self.parts, self.joined = {}, None
            self._of(made, ref)

    def _of(self, made: Any, ref: SourceRef) -> None:
        import torch.utils.data as td

        if isinstance(made, td.DataLoader):
            self.loader = made
        self.dataset = dataset_of(made)
        if not any(hasattr(self.dataset, name) for name in ("__getitem__", "__iter__")):
            raise RequestError(
                "dataset-raised",
                f"{escaped(ref.name)} is of type {escaped(type(made).__name__)}, not a Dataset: name a Dataset, a DataLoader, or a "
                "function that returns one",
            )
        own = (self.dataset, *(getattr(self.loader, name, None) for name in ("collate_fn", "worker_init_fn")))
        self.before = Before.of(*own, roots=ref.roots)
        self.iterable = isinstance(self.dataset, td.IterableDataset) or not hasattr(self.dataset, "__getitem__")
        self.modality = "array"
        if self.iterable:
            self.units = ()
            self.sharding = "a stream of the user's code"
        else:
            try:
                n = len(self.dataset)
            except (TypeError, NotImplementedError) as e:
                raise RequestError(
                    "dataset-raised", f"len() of the dataset raised {escaped(e)}; a map-style dataset needs __len__"
                ) from None
            except Exception as e:  # the user's code
                raise RequestError("dataset-raised", f"len() of the dataset raised: {Raised(e)}") from None
            if n <= 0:
                raise RequestError(
                    "dataset-raised",
                    f"the dataset's length is {n}: look at the paths and filters that it is made with; "
                    f"paths are relative to {escaped(Path.cwd())}",
                )
            self.units = _Samples(n)
            self.sharding = "the user's code"

    @property
    def samples(self) -> int:
        return len(self.units)  # one unit per sample: counting millions one by one took seconds each time

    @property
    def splits(self) -> dict[str, int]:
        return {} if self.joined is None else self.joined.sizes

    def split_of(self, index: int) -> str | None:
        """The split of a sample, where there are several."""
        return None if self.joined is None else self.joined.split_of(index)

    def describe(self, first: Block) -> None:
        """Fields, label and modality from samples that were read; classes from the dataset, if it names them."""
        self.fields = tuple(field_of(name, column) for name, column in first.columns.items())
        scalar = [f.name for f in self.fields if not f.shape and f.kind in ("number", "category", "boolean")]
        self.label, self.label_how = label_by_name(scalar)
        if self.label is None and scalar and list(first.columns)[-1] == scalar[-1] and len(self.fields) > 1:
            if "float" not in next(f for f in self.fields if f.name == scalar[-1]).dtype and not is_no_class(
                scalar[-1]
            ):
                self.label, self.label_how = scalar[-1], "guessed: the last item of a sample, a whole number or text"
        classes = getattr(dataset_of(self.training_part), "classes", None)
        if isinstance(classes, list | tuple) and all(isinstance(c, str) for c in classes):
            self.classes = tuple(classes)
        self.labelled()

    def labelled(self, asked: str | None = None) -> None:
        """Takes the label as a category, as other formats do: that which is asked for in place of a guess."""
        if asked is not None:
            self.label, self.label_how = asked, "as asked"
        self.fields = tuple(replace(f, kind="category") if f.name == self.label else f for f in self.fields)
        self.modality = modality_of(self.fields, self.label)

    def read(self, unit: Unit) -> Any:
        return None

    def decode(self, unit: Unit, raw: Any) -> Block:
        return Block(unit, columns_of_sample(self.sample(unit.start)))

    def sample(self, index: int) -> Any:
        """A sample of the dataset.

        Raises:
            Raised: whatever the user's code raised, including ``SystemExit``.
        """
        try:
            return self.dataset[index]
        except (Exception, SystemExit) as e:
            raise Raised(e, index) from None


class Described(Source):
    """No data yet: the request describes a batch for a model."""

    format = "input"
    kinds = frozenset()
    units = ()
    sharding = "none"

    @classmethod
    def open(cls, listing: Listing, ref: SourceRef) -> Source:
        return cls()

    def read(self, unit: Unit) -> Any:
        raise RequestError("invalid-argument", "input describes a batch: there is no data to read")

    def decode(self, unit: Unit, raw: Any) -> Block:
        raise RequestError("invalid-argument", "input describes a batch: there is no data to read")


class _Samples:
    """Units of a map-style dataset, created on demand: a dataset of 1e9 samples needs no list."""

    def __init__(self, n: int) -> None:
        self._n = n

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(self._n))]
        if i < 0:
            i += self._n
        if not 0 <= i < self._n:
            raise IndexError(i)
        return Unit(i, "", i, 1, 0)

    def __iter__(self) -> Any:
        return (self[i] for i in range(self._n))


def columns_of_sample(sample: Any) -> dict[str, Column]:
    """A sample's fields by name: keys of a mapping, fields of a named tuple, else ``0``, ``1``…; values are numpy."""
    return {name: _column(value) for name, value in items_of(sample)}


def _column(value: Any) -> Column:
    import numpy as np

    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = (value.float() if str(value.dtype) == "torch.bfloat16" else value).numpy()
    if isinstance(value, np.ndarray | np.generic | bool | int | float):
        array = np.asarray(value)
        return Column([array] if array.ndim else array.reshape(1))
    if isinstance(value, list):
        try:
            array = np.asarray(value)
        except ValueError:
            return Column([value])
        return Column([array if array.dtype.kind in "biuf" else value])
    return Column([value], np.array([True]) if value is None else None)


def named(name: str, roots: tuple[str, ...]) -> Any:
    """What the reference names.

    Raises:
        RequestError: ``invalid-argument``, ``source-not-found``, ``outside-roots`` or ``import-failed``; ``code-refused`` for
            something that the module merely imported, which a request could otherwise call with any arguments.
    """
    where, _, attribute = name.rpartition(":")
    if not where or not attribute:
        raise RequestError(
            "invalid-argument", f"{escaped(name)} is not a Python reference; give file.py:name or package.module:name"
        )
    module = _module(where, roots)
    own = [n for n, v in vars(module).items() if getattr(v, "__module__", None) == module.__name__]
    if not hasattr(module, attribute):
        import difflib

        names = own or [n for n in vars(module) if not n.startswith("_")]
        lower = {n.lower(): n for n in names}
        near = difflib.get_close_matches(attribute.lower(), lower, 1)
        meant = f"did you mean {escaped(lower[near[0]])}? It" if near else "it"
        raise RequestError(
            "import-failed",
            f"{escaped(where)} has no {escaped(attribute)}; {meant} has {listed(names) or 'nothing'}"
            f" (imported by {escaped(sys.executable)})",
        )
    target = getattr(module, attribute)
    home = defined_in(target)
    if home is not None and not _is_own(home, str(module.__file__), roots):
        raise RequestError(
            "code-refused",
            f"{escaped(attribute)} is only imported into {escaped(where)} and is defined in {escaped(home)}; "
            f"{f'{escaped(where)} itself defines {listed(own)}; ' if own else ''}"
            "name a class, function or object that is defined below a root, write a function there that calls it, or add its folder as a --root",
        )
    return target


def defined_in(target: Any, depth: int = 0) -> str | None:
    """The file that defines the code that calling ``target`` would run; None for an object that is used without a call.

    A wrapper made with ``functools.wraps`` counts as what it wraps; built-in functions have no file.
    """
    if depth > 20:
        return "code that cannot be found"
    if is_object(target):
        return None
    inner = getattr(target, "__wrapped__", None) or (target.func if isinstance(target, functools.partial) else None)
    inner = inner or getattr(target, "__func__", None)
    if inner is not None:
        return defined_in(inner, depth + 1)
    code = getattr(target, "__code__", None)
    if code is not None:
        return str(code.co_filename)
    if isinstance(target, type):
        home = sys.modules.get(target.__module__)
        return getattr(home, "__file__", None) or f"the module {target.__module__}"
    if isinstance(target, types.ModuleType):
        return str(getattr(target, "__file__", None) or f"the module {target.__name__}")
    if not callable(target):
        return None
    if isinstance(target, types.BuiltinFunctionType):
        return f"the module {target.__module__}"
    return defined_in(type(target), depth + 1)


def _is_own(home: str, module: str, roots: tuple[str, ...]) -> bool:
    """Whether a file is below a root and not part of Python or an installed package, unless it is the named file itself."""
    real = os.path.realpath(home)
    return Path(home).is_absolute() and below(real, roots) and (is_users(real) or real == os.path.realpath(module))


def is_object(target: Any) -> bool:
    """Whether it is used as it is and never called: something that yields samples, or a model."""
    import torch.nn

    if isinstance(target, type | types.FunctionType | types.ModuleType):
        return False
    return isinstance(target, torch.nn.Module) or hasattr(target, "__getitem__") or hasattr(target, "__iter__")


def load(name: str, args: dict[str, Any], roots: tuple[str, ...], given_as: str = "source_args") -> Any:
    """What the reference names, called with ``args`` if it is a class or a function; ``given_as``: what the user calls these.

    Raises:
        RequestError: as ``named``, or ``dataset-raised``.
    """
    return made_of(named(name, roots), name, args, given_as)


def is_called(target: Any) -> bool:
    """Whether it is a class or a function, which makes what is measured."""
    return callable(target) and not is_object(target)


def made_of(target: Any, name: str, args: dict[str, Any], given_as: str = "source_args") -> Any:
    """What a reference names, called if it is a class or a function; arguments and errors as of ``load``."""
    if not is_called(target):
        if args:
            raise RequestError("invalid-argument", f"{escaped(name)} is an object, not a class: it takes no {given_as}")
        return target
    try:
        return target(**args)
    except (Exception, SystemExit) as e:
        hint = _of_arguments(target, args, given_as) if isinstance(e, TypeError) else ""
        raise RequestError("dataset-raised", f"making {escaped(name)} raised {Raised(e)}{hint}") from None


def _of_arguments(target: Any, args: dict[str, Any], given_as: str) -> str:
    """Which arguments it takes, where those given are not these; nothing where the error is of something else."""
    import inspect

    try:
        signature = inspect.signature(target)
    except (TypeError, ValueError):
        return ""
    try:
        signature.bind(**args)
    except TypeError:
        name = escaped(getattr(target, "__name__", "it"))
        if not signature.parameters:
            return f"; {name} takes no arguments: leave {given_as} out"
        several = next((p for p in signature.parameters if p in NAMES), None) if given_as == "source_args" else None
        both = f'; a list for {several} compares the splits: {{"{several}": ["train", "val"]}}' if several else ""
        return f"; pass its arguments as {given_as}: {name}{escaped(signature, 200)}{both}"
    return ""


def gives_loaders(made: Any) -> bool:
    """Whether it is a data module, such as Lightning's, of which the training loader is measured."""
    import torch.nn

    return not isinstance(made, torch.nn.Module) and callable(getattr(made, "train_dataloader", None))


def training_loader(made: Any, name: str) -> Any:
    """The training loader of a Lightning data module, set up to fit; anything else as it is.

    Raises:
        RequestError: ``dataset-raised`` if the module raises, or has several loaders.
    """
    if not gives_loaders(made):
        return made
    try:
        if callable(getattr(made, "setup", None)):
            made.setup("fit")
        loader = made.train_dataloader()
    except (Exception, SystemExit) as e:
        raise RequestError("dataset-raised", f"train_dataloader() of {escaped(name)} raised {Raised(e)}") from None
    if isinstance(loader, dict | list | tuple):
        text = f"{escaped(name)} has several training loaders: name a function that returns one of them"
        raise RequestError("dataset-raised", text)
    return loader


def _module(where: str, roots: tuple[str, ...]) -> Any:
    if where.endswith(".ipynb"):
        text = f"{escaped(where)} is a notebook, which cannot be imported: put what it defines into a .py file and name that"
        raise RequestError("import-failed", text)
    path, root, dotted, folders = place_of(where, roots)
    if not below(os.path.realpath(path), roots):
        raise RequestError("outside-roots", f"{escaped(path)} lies outside the roots; start the server with --root")
    for folder in reversed(folders):
        if folder in sys.path:
            sys.path.remove(folder)
        sys.path.insert(0, folder)
    os.chdir(root)
    try:
        if all(part.isidentifier() for part in dotted.split(".")):
            try:
                found = importlib.util.find_spec(dotted)
            except (ImportError, ValueError):
                found = None
            if found is not None and found.origin and os.path.realpath(found.origin) == os.path.realpath(path):
                return importlib.import_module(dotted)
        spec = importlib.util.spec_from_file_location(dotted, path)
        if spec is None or spec.loader is None:
            raise ImportError(f"{path} is not a Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[dotted] = module
        spec.loader.exec_module(module)
        return module
    except (Exception, SystemExit) as e:
        fix = "fix the import, or name the interpreter that has its packages with --python"
        if isinstance(e, SystemExit):
            fix = "if it reads the command line when it is imported, guard that with if __name__ == '__main__'"
        text = f"importing {escaped(where)} with {escaped(sys.executable)} raised {Raised(e)}; {fix}"
        raise RequestError("import-failed", text) from None


SOURCE = Reference
