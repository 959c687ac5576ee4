"""Tables that say something of some of the samples, and nothing of the others."""

from __future__ import annotations

import json
from pathlib import Path

from dataloader_expert.checks.base import MISSING
from tests.making.scanning import scan
from tests.sources.test_layouts import opened, picture, written


def pictures(root: Path) -> list[str]:
    names = [f"train/t{i}.png" for i in range(12)] + [f"test/e{i}.png" for i in range(5)]
    for name in names:
        picture(root / name)
    return names


def test_what_the_training_split_lacks_is_missing(tmp_path: Path) -> None:
    """Our promise: only a split that is not trained on has values withheld; elsewhere they are counted as missing."""
    named = [name for name in pictures(tmp_path) if name.startswith("test")]
    written(
        tmp_path / "meta.csv",
        "file_name,height_cm,weight\n" + "".join(f"{name},{20 + i},{i / 3}\n" for i, name in enumerate(named)),
    )
    found = [f for f in scan(tmp_path, tmp_path).facts if f["quantity"]["name"] == MISSING.name]
    assert [f["value"] for f in found if f["at"] == {"field": "weight"}] == [12]


def test_a_list_of_images_in_the_form_of_coco_says_nothing_of_them(tmp_path: Path) -> None:
    """Seen: the sizes of test images, from ``image_info_test.json``, were fields that all training images lacked."""
    pictures(tmp_path)
    images = [{"file_name": f"e{i}.png", "id": i, "width": 32, "height": 24} for i in range(5)]
    written(tmp_path / "annotations" / "image_info_test.json", json.dumps({"images": images, "categories": []}))
    assert [field.name for field in opened(tmp_path).fields] == ["image"]
