"""How severe each problem of a file or sample is, and what is advised."""

from __future__ import annotations

from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.conclusions import Severity

WARNINGS = {
    "wrong-extension",
    "broken-link",
    "special-file",
    "changed-while-read",
    "encoding-error",
    "foreign-file",
    "rate-drift",
    "trailing-bytes",
    "missing-shard",
    "dtype-drift",
    "ragged",
    "empty-class",
    "odd-name",
    "duplicate-files",
}
INFOS = {"junk-file", "case-collision"}
PARTICULAR: dict[str, tuple[Severity, str]] = {
    "sample": ("info", "nothing to do, or move it into the folder of its split and class if it is a sample"),
    "table": ("info", "nothing to do, or pass its path as the source to read it"),
    "note": ("info", "nothing to do, or read it in your own Dataset if it says something of the samples"),
    "rows": ("info", "nothing to do, or delete them: other readers would make empty samples of them"),
    "zeros": ("warning", "pad these codes with zeros, and read the column as text: a parser of numbers drops them"),
}
"""How severe a problem of a particular kind is, and what is advised (``Unreadable.what``)."""
BROKEN = {
    "unreadable",
    "empty-file",
    "truncated",
    "not-the-format",
    "checksum-mismatch",
    "bomb",
    "executable-payload",
    "header-mismatch",
    "parse-error",
    "sample-raises",
    "sample-crashes",
    "missing-shard",
    "special-file",
    "broken-link",
    "outside-root",
    "duplicate-keys",
    "length-mismatch",
}
"""Codes of files and samples that could not be read, some of them because reading ended the process that tried."""
FIXES = {
    "truncated": "fetch or write the file again; compare its size with the original's",
    "empty-file": "fetch the file again or remove it from the dataset",
    "not-the-format": "inspect the first bytes: this is probably a saved error page or pointer; fetch it again",
    "wrong-extension": "rename the file to match its format",
    "bomb": "check where the file comes from; re-encode it at its real size",
    "executable-payload": "store plain arrays (numpy.save with allow_pickle=False, safetensors); never unpickle data from others",
    "outside-root": "pass --root with the folder that the link points to, or copy the file in",
    "dangling-reference": "add the missing files, or remove the rows that name them",
    "duplicate-keys": "give every sample its own key: readers merge samples that share a key, or keep only one of them",
    "length-mismatch": "write fields of one length, or leave the odd one out",
    "rate-drift": "resample the parts of a sample to one rate, or correct the rate in their headers",
    "missing-shard": "fetch the missing file, or write the shards again",
    "junk-file": "delete it",
    "label-out-of-range": "regenerate the masks from their source in a lossless format such as PNG",
    "foreign-file": "move it out of the dataset's folder",
    "checksum-mismatch": "fetch the file again: its bytes have changed since it was written",
    "dtype-drift": "write all samples with one dtype",
    "shape-drift": "resize, pad or crop to one shape, or batch with a collate function that pads",
    "missing-key": "write every sample with the same fields",
    "missing-pair": "add the missing file, or remove its partner: a dataset that zips both lists mismatches every later pair",
    "parse-error": "repair them: strict readers stop there, others skip them or fill in missing values",
    "extra-key": "write every sample with the same fields, or leave this one out",
    "duplicate-files": "drop the copies",
    "encoding-error": "re-encode the file as UTF-8",
    "odd-name": "rename it",
    "splits-overlap": "keep each in one split, with all that belongs to it",
    "out-of-range-ids": "number the rows from 0, and name only those that are there",
    "label-conflict": "find out which of the two is right",
    "empty-class": "delete the folder or add samples: torchvision's ImageFolder rejects it",
}
FIXES_OF_KIND = {
    (
        "length-mismatch",
        "mask",
    ): "resize these masks to their images with nearest-neighbour interpolation, or export them again",
    (
        "length-mismatch",
        "image",
    ): "fetch these images in the size that was annotated, or scale their annotations by the ratio",
}
"""By code and kind of field, where another fix is right for such a field."""


def fix_of(code: str, where: list[dict[str, Any]], context: Context) -> str:
    kinds = {f.name: f.kind for f in context.fields}
    kind = kinds.get(str(where[0].get("field"))) if where else None
    usual = FIXES.get(code, "repair or remove these files; the loader will fail on them too")
    return FIXES_OF_KIND.get((code, kind), usual) if kind else usual
