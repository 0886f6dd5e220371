"""The IO manager: reads versions of models for users' own assets, and writes what they return."""

from __future__ import annotations

import dagster as dg

from vde_dagster.app.binding import Binding
from vde_dagster.app.inspect.user_reads import UserRead, source_version, user_read
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval, merge
from vde_dagster.orchestration._unpublished import reads_by_partition
from vde_dagster.orchestration.failures import failures
from vde_dagster.orchestration.input_frames import as_form, form_of
from vde_dagster.orchestration.location import Location
from vde_dagster.orchestration.own_frames import TABLE, Shown, own_table, write_frame
from vde_dagster.orchestration.partitions import interval_of, is_partitioned
from vde_dagster.orchestration.steps import (
    current_binding,
)


class VdeIcebergIOManager(dg.IOManager):
    """Reads versions of models for users' own assets, and writes what these return.

    Models are evaluated by the bodies of their assets, which yield no value to be stored.

    Args:
        location: The environment whose models are read.
        shown: What views of own assets showed when their code was loaded.
    """

    def __init__(self, location: Location, shown: Shown | None = None) -> None:
        self._location = location
        self._shown = dict(shown or {})

    def remembering(self, shown: Shown) -> VdeIcebergIOManager:
        """The same one that knows what views of own assets show when their code is loaded."""
        return VdeIcebergIOManager(self._location, {**self._shown, **shown})

    @property
    def location(self) -> Location:
        """The environment whose models are read."""
        return self._location

    def data_version(self, source: str) -> dg.DataVersion:
        """The version of a source's rows, for your own asset that writes them.

        It is what decides whether models that read the source are computed: it changes with the
        table's rows and columns, and not with a compaction. An asset that returns it looks changed
        in Dagster exactly when models are.

        Args:
            source: Its name, as models write it.

        Raises:
            Failure: There is no such source, or its table does not exist.

        Example:
            .. code-block:: python

                @dg.asset(key=["raw", "flights"], required_resource_keys={"vde_io_manager"})
                def flights(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
                    ...  # write the table
                    versions = context.resources.vde_io_manager
                    return dg.MaterializeResult(data_version=versions.data_version("raw.flights"))
        """
        with failures():
            services = self._location.project.services
            return dg.DataVersion(source_version(services, self._location.binding, source))

    def handle_output(self, context: dg.OutputContext, obj: object) -> None:
        """Write what an own asset returned.

        Raises:
            Failure: The asset does not say what table it is, its rows do not fit, or an audit found
                bad ones.
        """
        with failures():
            write_frame(self._location, context, obj, self._shown)

    def load_input(self, context: dg.InputContext) -> object:
        """The rows of a model that are loaded, for a user's own asset (docs/own-assets.md).

        They come in the form that the argument is annotated with. A partitioned asset gets those of
        the model's partitions that it is mapped to, another one all.

        Raises:
            Failure: The asset is no model of this project, its version lacks what is asked for, or
                rows cannot be given in that form.
        """
        with failures():
            form = form_of(context)
            name, binding, partitions = self._read(context)
            services = self._location.project.services
            wanted = user_read(
                services,
                binding,
                name,
                _intervals(context, binding.node(name), partitions),
                columns=_columns(context),
                with_gaps=(context.definition_metadata or {}).get("with_gaps") is True,
            )
            context.log.info(_said(name, binding.environment, wanted))
            return as_form(self._location.project, wanted, form)

    def _read(
        self, context: dg.InputContext
    ) -> tuple[ModelName, Binding, dg.PartitionsDefinition | None]:
        """The model, source or table of an own asset that an input reads, and its own partitions.

        Raises:
            Refused: It is none of these, or the environment has moved.
        """
        name = self._location.name(context.asset_key)
        if name is not None:
            return name, current_binding(self._location, name), None
        upstream = context.upstream_output
        if upstream is None or TABLE not in (upstream.definition_metadata or {}):
            raise Refused(f"{context.asset_key.to_user_string()} is no model of this project.")
        own = own_table(self._location, upstream.asset_spec)
        return own.model.name, own.binding, upstream.asset_spec.partitions_def


def _intervals(
    context: dg.InputContext, node: Node, own: dg.PartitionsDefinition | None
) -> tuple[Interval, ...] | None:
    """The intervals that a partitioned asset reads; None where it reads everything.

    ``own`` are the partitions of an own asset. They may be longer than the unit of its table, and
    have keys of any format.
    """
    if not (is_partitioned(node) and reads_by_partition(context)):
        return None
    if isinstance(own, dg.TimeWindowPartitionsDefinition):
        windows = map(own.time_window_for_partition_key, context.asset_partition_keys)
        return merge(Interval(each.start, each.end) for each in windows)
    return merge(interval_of(node.model.unit, each) for each in context.asset_partition_keys)


def _columns(context: dg.InputContext) -> tuple[str, ...]:
    wanted = (context.definition_metadata or {}).get("columns", ())
    if isinstance(wanted, str) or not all(isinstance(each, str) for each in wanted):
        raise Refused(
            f"`columns` of the input {context.name!r} is {wanted!r}",
            advice='Write a list of names, as in `metadata={"columns": ["day", "flights"]}`.',
        )
    return tuple(wanted)


def _said(name: ModelName, environment: str, wanted: UserRead) -> str:
    rows = wanted.rows
    times = f" for {', '.join(map(str, wanted.loaded))}" if wanted.loaded else ""
    at = f" at the Iceberg snapshot {rows.iceberg_snapshot_id}" if rows.iceberg_snapshot_id else ""
    return f"Reads {name} of {environment}{times}: {rows.table}{at}"
