"""Tables whose rows name the folders of samples: the product of some photographs, the video of some frames."""

from __future__ import annotations

from dataclasses import replace

from dataloader_expert.sources.annotations.naming import Sought
from dataloader_expert.sources.annotations.record import FOLDERS, NEARLY_ALL, ODD, Annotations, Names, Row, folder_of
from dataloader_expert.sources.annotations.rows import READERS
from dataloader_expert.sources.annotations.tables import MOST_BYTES, add_rows, read_table, rows_of_list
from dataloader_expert.sources.files import Listing, is_about
from dataloader_expert.sources.layout import is_form, split_in_name, split_of_folder

FEWEST = 10
"""The fewest folders: a few are as likely classes, which a table may describe."""
MOST_ROWS = 10_000_000
"""The most rows that a table becomes when each file has one."""


def join_of_folders(found: Annotations, listing: Listing, paths: list[str]) -> None:
    """Each file of a folder has the row that names it. Tables that name files are read before."""
    held: dict[str, list[str]] = {}
    for path in paths:
        held.setdefault(folder_of(path), []).append(path)
    held = {folder: of for folder, of in held.items() if folder and split_of_folder(folder.rpartition("/")[2]) is None}
    if len(held) < FEWEST or len(held) == len(paths) or found.joined:
        return
    sought, files = Sought(list(held)), Names(paths)
    divided: dict[str, list[str]] = {}
    for entry in listing.entries:
        read, name = READERS.get(entry.kind or ""), entry.path.rpartition("/")[2]
        aside = is_about(entry.path) or is_form(name) or entry.path in found.tables
        if read is None or aside or not 0 < entry.size <= MOST_BYTES:
            continue
        split = split_in_name(name)
        try:
            made = read_table(listing, entry, read, sought, split) or rows_of_list(listing, entry, sought)
            if made is None:
                continue
            table, rows, homes = made
            spread = _of_files(rows, table.naming, table.by_stem, homes, held)
            if len(spread) > MOST_ROWS or 2 * len({row[table.naming] for row in spread}) < len(paths) * (split is None):
                continue
            there = add_rows(found, replace(table, kind=FOLDERS, by_stem=False), spread, files, "")
        except ODD:
            continue
        if split is not None:
            divided.setdefault(split, []).extend(there)
    if len(divided) > 1:
        for split, of in divided.items():
            found.divide(split, of)


def _of_files(rows: list[Row], naming: str, by_stem: bool, homes: Names, held: dict[str, list[str]]) -> list[Row]:
    """A row for each file of the folders that rows name; none where those are fewer than nearly all, or one folder has several."""
    named = [homes.find(str(row.get(naming)), by_stem) for row in rows]
    there = [folder for folder in named if folder is not None]
    if len(there) < NEARLY_ALL * len(rows) or len({*there}) < len(there):
        return []
    pairs = zip(rows, named, strict=True)
    return [{**row, naming: path} for row, folder in pairs if folder is not None for path in held[folder]]
