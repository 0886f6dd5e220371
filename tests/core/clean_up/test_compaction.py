"""When rewriting small files is worth it."""

from __future__ import annotations

import pytest

from vde_dagster.core.clean_up.compaction import DataFile, compaction

MB = 1_000_000


def files(**sizes: list[int]) -> list[DataFile]:
    return [
        DataFile(partition=partition, size=size * MB)
        for partition, found in sizes.items()
        for size in found
    ]


@pytest.mark.parametrize(
    "found,wanted",
    [
        (files(), None),
        (files(a=[1, 1, 1, 1]), None),
        (files(a=[1, 1, 1, 1, 1]), (5, 1, 1)),
        (files(a=[1, 1, 1], b=[1, 1, 1]), None),
        (files(a=[1] * 5, b=[1] * 9, c=[1]), (14, 2, 2)),
        # files of three quarters of the size are no small ones
        (files(a=[75, 75, 75, 75, 75]), None),
        (files(a=[74, 74, 74, 74, 74]), (5, 4, 1)),
        (files(a=[1, 1, 1, 1, 1, 90]), (5, 1, 1)),
    ],
)
def test_what_is_rewritten(found: list[DataFile], wanted: tuple[int, int, int] | None) -> None:
    chosen = compaction(found, least=5, file_size=100 * MB)
    if wanted is None:
        assert chosen is None
    else:
        assert chosen is not None
        assert (chosen.files, chosen.files_after, chosen.partitions) == wanted


def test_one_file_is_never_rewritten() -> None:
    assert compaction(files(a=[1]), least=1, file_size=100 * MB) is None


@pytest.mark.parametrize("count", [2, 3, 5, 40])
def test_what_was_rewritten_is_not_rewritten_again(count: int) -> None:
    chosen = compaction(files(a=[40] * count), least=2, file_size=100 * MB)
    assert chosen is not None
    after = [DataFile(partition="a", size=chosen.size // chosen.files_after)] * chosen.files_after
    assert compaction(after, least=2, file_size=100 * MB) is None
