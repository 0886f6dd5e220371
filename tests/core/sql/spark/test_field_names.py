"""Names of fields that begin with a digit: Spark reads some of them as numbers."""

import pytest

from vde_dagster.core.sql.spark.type_spelling import field_name


@pytest.mark.parametrize("name", ["1", "12", "2023", "9", "1e5", "1L", "2y", "1bd", "1st"])
def test_a_name_that_begins_with_a_digit_is_quoted(name: str) -> None:
    assert field_name(name) == f"`{name}`"


@pytest.mark.parametrize("name", ["a1", "_", "__x", "A1"])
def test_a_plain_word_is_not_quoted(name: str) -> None:
    assert field_name(name) == name
