"""A host's folder: a link that makes our package importable, and the sockets of its requests' processes."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

LONGEST_FOLDER = 107 - len("/listener-12345678")
"""The path of a socket has at most 107 bytes; the name is that of multiprocessing's."""
SHORT = "/tmp"
"""Where the sockets go if the path of the temporary directory is too long for them."""


def package_folder() -> str:
    """A folder that holds one link, to our package: the interpreter can import it, but none of our dependencies.

    Requests keep their sockets in it, so it lies in ``SHORT`` where the temporary directory's path is too long for them.
    """
    sockets = len(os.fsencode(tempfile.gettempdir())) + len("/dataloader-expert-12345678/4194304")  # the largest pid
    short = sockets > LONGEST_FOLDER and os.access(SHORT, os.W_OK | os.X_OK)
    folder = tempfile.mkdtemp(prefix="dataloader-expert-", dir=SHORT if short else None)
    os.symlink(Path(__file__).parent.parent, Path(folder) / "dataloader_expert", target_is_directory=True)
    return folder


def keep_sockets_in(folder: str) -> None:
    """Makes multiprocessing put the sockets of this process and its workers there, unless their paths are too long."""
    from multiprocessing.process import current_process

    if len(os.fsencode(folder)) <= LONGEST_FOLDER:
        os.mkdir(folder, 0o700)
        current_process()._config["tempdir"] = folder  # type: ignore[attr-defined]  # what its get_temp_dir looks at


def remove_request_dir(folder: str) -> None:
    """Removes a request's folder, with the sockets that its processes left there when they were killed."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):  # host and warden may both be at it
                os.unlink(os.path.join(folder, name))
        os.rmdir(folder)


def remove_package_dir(package: str) -> None:
    """Removes the folder that made our package visible: by host and warden, for either may be killed."""
    with contextlib.suppress(OSError):
        for name in os.listdir(package):
            if name.isdigit():
                remove_request_dir(os.path.join(package, name))
        os.unlink(os.path.join(package, "dataloader_expert"))  # a link, or this fails and nothing is lost
        os.rmdir(package)
