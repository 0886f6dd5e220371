"""Rows of a model as a user's own asset asks for them, by the annotation of its argument."""

from __future__ import annotations

from enum import Enum
from importlib import import_module
from typing import Any, assert_never

import dagster as dg

from vde_dagster.app.inspect.user_reads import UserRead, arrow_of
from vde_dagster.composition import VdeProject
from vde_dagster.core.errors import Refused


class Form(Enum):
    """What a user's own asset can be given, by the name that it has in an annotation.

    It is recognised without importing what the user does not have. Modules inside of its package
    count, since versions differ in where a class is defined.
    """

    SPARK = "pyspark.sql.DataFrame"
    PANDAS = "pandas.DataFrame"
    ARROW = "pyarrow.Table"
    ICEBERG = "pyiceberg.table.Table"
    POLARS = "polars.DataFrame"


def form_of(context: dg.InputContext) -> Form:
    """What the argument of an input is annotated with; without annotation a Spark DataFrame.

    Raises:
        Refused: It is annotated with something else.
    """
    try:
        annotation = context.dagster_type.typing_type
    except dg.DagsterInvariantViolationError:  # a context that a test built without a type
        return Form.SPARK
    if annotation is Any:
        return Form.SPARK
    for form in Form:
        package, _, name = form.value.rpartition(".")
        if (
            isinstance(annotation, type)
            and annotation.__name__ == name
            and f"{annotation.__module__}.".startswith(f"{package}.")
        ):
            return form
    key = context.asset_key.to_user_string()
    raise Refused(
        f"the rows of {key} cannot be passed as {_shown(annotation)}, "
        f"which the argument {context.name!r} is annotated with",
        advice=f"Annotate it with one of {', '.join(each.value for each in Form)}.",
    )


def _shown(annotation: object) -> str:
    if isinstance(annotation, type):
        return f"{annotation.__module__}.{annotation.__qualname__}".removeprefix("builtins.")
    return str(annotation).removeprefix("typing.")


def as_form(project: VdeProject, wanted: UserRead, form: Form) -> object:
    """The rows in a form. Spark is started only for a DataFrame of Spark, and for views.

    Raises:
        Refused: It cannot be given so.
        EvaluationFailed: The rows cannot be read.
    """
    match form:
        case Form.SPARK:
            return project.services.engine.read(wanted.rows)
        case Form.PANDAS:
            return arrow_of(project.services, wanted).to_pandas()
        case Form.ARROW:
            return arrow_of(project.services, wanted)
        case Form.POLARS:
            return import_module("polars").from_arrow(arrow_of(project.services, wanted))
        case Form.ICEBERG:
            return _iceberg_table(project, wanted)
        case unreachable:
            assert_never(unreachable)


def _iceberg_table(project: VdeProject, wanted: UserRead) -> object:
    table = wanted.rows.table
    if wanted.is_view:
        raise Refused(
            f"{table} is a view, which pyiceberg cannot load as a table",
            advice="Annotate the argument with pandas.DataFrame, pyarrow.Table or "
            "pyspark.sql.DataFrame.",
        )
    if wanted.rows.hidden_rows is not None:
        raise Refused(
            f"{table} has hidden rows, and a pyiceberg table shows all rows",
            advice="Annotate the argument with pandas.DataFrame, pyarrow.Table or "
            "pyspark.sql.DataFrame.",
        )
    if wanted.rows.columns:
        raise Refused(
            f"`columns` has no effect on {table} as a pyiceberg table",
            advice="Leave them out, and write `table.scan(selected_fields=(...))`.",
        )
    return project.iceberg_catalog().load_table((table.namespace, table.name))
