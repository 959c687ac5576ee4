"""Fields that belong together as their names are the same but for one word: ``pickup_lat`` and ``pickup_lon``."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dataloader_expert.sources.roles import words


def pairs_of_names(names: Sequence[str], told: Collection[tuple[str, str]]) -> list[tuple[str, str]]:
    """The names with the first word of a pair in ``told``, each with those that have the second in its place, in the order of the names."""
    called: dict[tuple[str, ...], list[str]] = {}
    for name in names:
        called.setdefault(tuple(words(name)), []).append(name)
    at = {name: i for i, name in enumerate(names)}
    found = []
    for said, own in called.items():
        others = {
            (*said[:i], second, *said[i + 1 :])
            for i, word in enumerate(said)
            for first, second in told
            if word == first != second
        }
        found += [(one, other) for one in own for form in others for other in called.get(form, ())]
    return sorted(found, key=lambda pair: (at[pair[0]], at[pair[1]]))
