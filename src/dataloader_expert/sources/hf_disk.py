"""Hugging Face ``save_to_disk``: a Dataset or a DatasetDict, with the shards that ``state.json`` lists."""

from __future__ import annotations

import json

from dataloader_expert.errors import RequestError, Unreadable
from dataloader_expert.sources.arrow import Arrow
from dataloader_expert.sources.base import Unit
from dataloader_expert.sources.files import Entry, Listing
from dataloader_expert.sources.hub import feature_classes


class HfDisk(Arrow):
    format = "hf-disk"
    kinds = frozenset({"arrow", "json"})

    def entries(self, listing: Listing) -> list[Entry]:
        by_path = {e.path: e for e in listing.entries}
        found: list[Entry] = []
        for entry in listing.entries:
            folder, _, name = entry.path.rpartition("/")
            if name != "state.json":
                continue
            prefix = f"{folder}/" if folder else ""
            try:
                names = [f["filename"] for f in json.loads(listing.read(entry.path, 16 << 20))["_data_files"]]
            except (Unreadable, ValueError, KeyError, TypeError):
                self.problems.append(Unreadable("parse-error", "state.json lists no data files", file=entry.path))
                continue
            for shard in names:
                if "/" in shard or shard.startswith("."):
                    self.problems.append(
                        Unreadable("outside-root", f"names {shard!r}; only plain file names are read", file=entry.path)
                    )
                elif prefix + shard in by_path:
                    found.append(by_path[prefix + shard])
                else:
                    self.problems.append(Unreadable("missing-shard", f"{shard} is listed but missing", file=entry.path))
        if not found:
            raise RequestError(
                "format-unknown", "none of the shards listed in state.json exists; give a save_to_disk folder"
            )
        return found

    def splits_of(self, entries: list[Entry]) -> list[str | None]:
        folders = [entry.path.rpartition("/")[0] for entry in entries]
        return [
            folder.rsplit("/", 1)[-1] or own for folder, own in zip(folders, super().splits_of(entries), strict=True)
        ]

    def declared(self, unit: Unit) -> tuple[str, ...] | None:
        folder = unit.file.rpartition("/")[0]
        path = f"{folder}/dataset_info.json" if folder else "dataset_info.json"
        try:
            return feature_classes(self.listing.read(path, 16 << 20), self.label)
        except Unreadable:
            return super().declared(unit)


SOURCE = HfDisk
