"""Where samples are files of their own, a finding names the files that it is about."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.making.scanning import scan


def test_samples_on_another_scale_are_named_by_their_files(tmp_path: Path) -> None:
    """Our promise: whoever deletes the named files deletes no good ones; small files are read many at a time."""
    seed = int(np.random.default_rng().integers(2**32))
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    odd = sorted(rng.choice(160, 6, replace=False).tolist())
    for i in range(160):
        cloud = rng.normal(0, 1, (64, 3)) * (1000 if i in odd else 1)
        np.save(tmp_path / f"cloud_{i:04}.npy", cloud.astype(np.float32))
    found = next(f for f in scan(tmp_path, tmp_path).findings if f.code == "scale-drift")
    assert found.count == 6
    named = [place["file"] for place in found.where]
    assert named and set(named) <= {f"cloud_{i:04}.npy" for i in odd}
    assert len(set(named)) == len(named)
