"""Loaders and samplers compared with what one would write or use instead: one command for all.

``python -m benchmarks.speed`` runs the parts ``jasper``, ``sources``, ``engine`` and ``samplers`` (about half an hour); name one
to run it alone. Figures are CPU seconds of one thread; candidates alternate, and medians are printed with their spread.

Two peers of the samplers are needed: ``pip install --no-deps pytorch-metric-learning torchsampler``, with scikit-learn from
``pip install --group test``. Without ``--no-deps`` pip may install another torch for them; torchvision, which one of them imports
but does not use here, is stubbed.
"""

from __future__ import annotations

import argparse
import os

PARTS = ("jasper", "sources", "engine", "samplers")


def main() -> None:
    os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported, here and in the processes of the cases
    from benchmarks import speed_engine, speed_jasper, speed_samplers, speed_sources

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=", ".join(PARTS))
    parser.add_argument("--repeats", type=int, default=15, help="alternating runs of each case")
    parser.add_argument("--sizes", type=float, nargs="*", default=[1e6, 1e7, 5e7], help="samples, for the samplers")
    chosen = parser.parse_args()
    for part in chosen.parts:
        print(f"# {part}")
        if part == "jasper":
            speed_jasper.run(chosen.repeats)
        elif part == "sources":
            speed_sources.run(chosen.repeats)
        elif part == "engine":
            speed_engine.run(chosen.repeats)
        else:
            speed_samplers.run([int(s) for s in chosen.sizes], chosen.repeats)


if __name__ == "__main__":
    main()
