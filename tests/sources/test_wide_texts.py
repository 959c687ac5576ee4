"""Text files in UTF-16 among others in UTF-8."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.making.scanning import scan


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_a_text_in_utf_16_is_read_and_told(tmp_path: Path, encoding: str) -> None:
    """Our promise: it is no error page, and is not to be fetched again."""
    for i in range(40):
        place = tmp_path / ("pos", "neg")[i % 2] / f"{i}.txt"
        place.parent.mkdir(exist_ok=True)
        text = f"What the {i}th review says of a film, in {i * i} words and one café."
        place.write_bytes(("\ufeff" * (i == 7) + text).encode("utf-16-be" if i == 7 else "utf-8"))
        if i == 7 and encoding == "utf-16":
            place.write_bytes(text.encode(encoding))
    found = {f.code: f for f in scan(tmp_path, tmp_path).findings if f.severity != "info"}
    assert set(found) == {"encoding-error"}
    assert "is UTF-16" in found["encoding-error"].message
    assert [place["file"] for place in found["encoding-error"].where] == ["neg/7.txt"]
