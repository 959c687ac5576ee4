"""Descriptors are waited for whatever their numbers are."""

from __future__ import annotations

import fcntl
import os

from dataloader_expert.probes.readable import readable
from dataloader_expert.probes.system.pristine_process import apart


def test_a_descriptor_with_a_large_number_can_be_waited_for() -> None:
    """Seen: on a dataset that left 1,200 files open, an experiment ended with "filedescriptor out of range in select()"."""
    reading, writing = os.pipe()
    try:
        large = fcntl.fcntl(reading, fcntl.F_DUPFD, 1100)
        assert not readable(large, 0.0)
        os.write(writing, b"x")
        assert readable(large, 1.0)
        os.close(large)
    finally:
        os.close(reading)
        os.close(writing)


def test_an_experiment_without_time_is_not_begun() -> None:
    """Our promise: what has no time left takes none."""
    assert apart(lambda seconds: {"ran": True}, 0.0) is None
    assert apart(lambda seconds: {"ran": True}, 2.0) == {"ran": True}
