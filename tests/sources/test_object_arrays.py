"""Arrays of Python objects in NPZ files: left out and told, never loaded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dataloader_expert.errors import NothingReadable
from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.handing_over import literals, reader_of, reading, sources_of
from dataloader_expert.sources.registry import open_source


class Trap:
    """Tells when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path("unpickled"),)


def opened(path: Path) -> Any:
    return open_source(SourceRef(str(path), (str(path),)), [])


def test_the_other_arrays_are_read_and_nothing_is_unpickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen: one object of metadata beside images and labels refused the whole file."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    images, labels = rng.integers(0, 2, (30, 16, 16), np.uint8), np.arange(30) % 3
    np.savez(tmp_path / "d.npz", imgs=images, y=labels, metadata=np.array(Trap(), dtype=object))
    source = opened(tmp_path / "d.npz")
    assert (source.samples, source.label) == (30, "y")
    assert "object array of shape []" in source.unread["metadata"] and not source.problems
    block = source.decode(source.units[0], source.read(source.units[0]))
    assert np.array_equal(block.columns["imgs"].values, images)
    constants, parts = reading(source, reader_of(source))
    space: dict[str, Any] = {"np": np, "Any": Any, "Path": Path, "Iterator": Iterator}
    exec(f"{literals(constants)}{sources_of(parts, reader_of(source))}", space)
    assert len(list(space["read_npz"](tmp_path / "d.npz"))) == 30
    assert not (tmp_path / "unpickled").exists()


@pytest.mark.parametrize("beside", [{}, {"y": np.arange(30) % 3}])
def test_a_file_whose_data_are_objects_is_refused(tmp_path: Path, beside: dict[str, Any]) -> None:
    """Our promise: labels alone are not read as if they were the data."""
    x = np.empty(30, dtype=object)
    x[:] = [np.zeros(i + 1) for i in range(30)]
    np.savez(tmp_path / "d.npz", x=x, **beside)
    with pytest.raises(NothingReadable, match="object array"):
        opened(tmp_path / "d.npz")
