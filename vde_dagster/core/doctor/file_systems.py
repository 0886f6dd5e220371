"""The file system that a path lies on, and whether other machines share it."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final

_SHARED: Final = frozenset(
    {
        "9p", "afs", "beegfs", "ceph", "cifs", "davfs", "fuse.davfs2", "fuse.gcsfuse",
        "fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "fuse.sshfs", "gfs2", "glusterfs", "gpfs",
        "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "smb3", "smbfs", "vboxsf",
    }
)  # fmt: skip
"""The types, as Linux names them, whose files several machines read and write."""


def file_system_of(path: PurePosixPath, mounts: str) -> str:
    r"""The type of the file system of an absolute path; empty where it is not known.

    Args:
        path: Without symbolic links.
        mounts: Linux' ``/proc/mounts``: on each line a device, a folder, a type and more. Spaces in
            a folder are written as ``\040``. Of two on the same folder the later one counts.
    """
    found, depth = "", -1
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        folder = PurePosixPath(_unescaped(fields[1]))
        if path.is_relative_to(folder) and len(folder.parts) >= depth:
            found, depth = fields[2], len(folder.parts)
    return found


def is_shared(file_system: str) -> bool:
    """Whether other machines may have the files of this type of file system, too."""
    return file_system in _SHARED


def _unescaped(folder: str) -> str:
    for written, meant in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        folder = folder.replace(written, meant)
    return folder
