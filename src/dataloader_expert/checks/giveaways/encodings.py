"""How a file's image was encoded, as one number: by the format, and of a JPEG by its quality.

A network learns to see the blocks of a low quality as well as anything else, so an encoding that goes with the class is a leak.
"""

from __future__ import annotations

JPEG, TABLES, START_OF_SCAN = b"\xff\xd8", 0xDB, 0xDA
OTHERS = (b"\x89PNG", b"GIF8", b"BM", b"RIFF", b"II*\0", b"MM\0*")
"""How files of other formats begin."""


def encoding_of(data: bytes) -> float:
    """The sum of a JPEG's first quantization table, of 64 steps: the larger, the lower its quality (ITU T.81, annex B.2.4.1). Negative
    for other formats."""
    if data[:2] != JPEG:
        return -1.0 - next((i for i, begin in enumerate(OTHERS, 1) if data.startswith(begin)), 0)
    at = 2
    while at + 4 <= len(data) and data[at] == 0xFF and data[at + 1] != START_OF_SCAN:
        length = int.from_bytes(data[at + 2 : at + 4], "big")
        if data[at + 1] == TABLES:
            width = 2 if data[at + 4 : at + 5] >= b"\x10" else 1
            steps = data[at + 5 : at + 5 + 64 * width]
            return float(sum(steps) if width == 1 else 256 * sum(steps[::2]) + sum(steps[1::2]))
        at += 2 + max(2, length)
    return 0.0
