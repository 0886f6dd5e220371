"""The file system of a path is that of the innermost folder on which something is mounted."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from vde_dagster.core.doctor.file_systems import file_system_of, is_shared

MOUNTS = """\
overlay / overlay rw,relatime 0 0
proc /proc proc rw 0 0
server:/home /home nfs4 rw,vers=4.2 0 0
/dev/sdb1 /home/ana/fast ext4 rw 0 0
//nas/team /mnt/the\\040team cifs rw 0 0
/dev/sdc1 /data ext4 rw 0 0
fs-1.efs:/ /data nfs4 rw 0 0

broken
"""


@pytest.mark.parametrize(
    "path,found",
    [
        ("/", "overlay"),
        ("/srv/x", "overlay"),
        ("/home/ana/project", "nfs4"),
        ("/home", "nfs4"),
        ("/homestead", "overlay"),
        ("/home/ana/fast/project", "ext4"),
        ("/mnt/the team/project", "cifs"),
        ("/data/x", "nfs4"),  # mounted over the other one
    ],
)
def test_the_innermost_mount_counts(path: str, found: str) -> None:
    assert file_system_of(PurePosixPath(path), MOUNTS) == found


def test_without_a_list_of_mounts_it_is_not_known() -> None:
    assert file_system_of(PurePosixPath("/home"), "") == ""


@pytest.mark.parametrize("name", ["nfs", "nfs4", "cifs", "fuse.sshfs", "lustre"])
def test_what_other_machines_write_to_is_shared(name: str) -> None:
    assert is_shared(name)


@pytest.mark.parametrize("name", ["", "ext4", "xfs", "overlay", "tmpfs", "btrfs", "fuse"])
def test_what_this_machine_has_alone_or_is_not_known_is_not(name: str) -> None:
    assert not is_shared(name)
