"""The IO manager: evaluates models for their assets, and reads versions for users' assets."""

from __future__ import annotations

import dagster as dg

from vde_dagster.app.binding import Binding
from vde_dagster.app.inspect.user_reads import UserRead, source_version, user_read
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval, merge
from vde_dagster.orchestration._unpublished import reads_by_partition
from vde_dagster.orchestration.assets.input_frames import as_form, form_of
from vde_dagster.orchestration.assets.metadata import (
    entries_metadata,
    stale_metadata,
    work_metadata,
)
from vde_dagster.orchestration.assets.own_frames import Shown, own_table, write_frame
from vde_dagster.orchestration.assets.partitions import interval_of, is_partitioned
from vde_dagster.orchestration.assets.steps import (
    Evaluation,
    EvaluationResult,
    current_binding,
    evaluate_step,
)
from vde_dagster.orchestration.failures import failures
from vde_dagster.orchestration.keys import AssetKey
from vde_dagster.orchestration.location import Location


class VdeIcebergIOManager(dg.IOManager):
    """Writes versions of models to Iceberg, and reads them for users' own assets.

    An asset's body calls `write` before it yields its output, and yields what was written: Dagster
    passes nothing back from ``handle_output``, and lets only the body set a data version.

    Args:
        location: The environment whose models are written and read.
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
        """The environment whose models are written and read."""
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
            ```python
            @dg.asset(key=["raw", "flights"], required_resource_keys={"vde_io_manager"})
            def flights(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
                ...  # write the table
                versions = context.resources.vde_io_manager
                return dg.MaterializeResult(data_version=versions.data_version("raw.flights"))
            ```
        """
        with failures():
            services = self._location.project.services
            return dg.DataVersion(source_version(services, self._location.binding, source))

    def write(self, evaluation: Evaluation) -> EvaluationResult:
        """Evaluate, publish and record what is asked for, and let the environment show it.

        Raises:
            Failure: It cannot be done now, another process was first, or a query failed.
        """
        with failures():
            return evaluate_step(self._location, evaluation)

    def handle_output(self, context: dg.OutputContext, obj: object) -> None:
        """Report to Dagster what `write` wrote; write what an own asset returned.

        Raises:
            Failure: The asset does not say what table it is, its rows do not fit, or an audit found
                bad ones.
        """
        if not isinstance(obj, EvaluationResult):
            with failures():
                write_frame(self._location, context, obj, self._shown)
            return
        keys = {name: spec.key for name, spec in self._location.specs.items()}
        asked = obj.evaluation
        context.add_output_metadata(
            {
                **entries_metadata(asked.binding, asked.node, obj.entries, keys),
                **work_metadata(obj.done),
                **stale_metadata(obj.stale_inputs),
            }
        )

    def load_input(self, context: dg.InputContext) -> object:
        """The rows of a model that are loaded, for a user's own asset (docs/how-to/own-assets.md).

        They come in the form that the argument is annotated with. A partitioned asset gets those of
        the model's partitions that it is mapped to, another one all.

        Raises:
            Failure: The asset is not a model of this project, its version lacks what is asked for,
                or rows cannot be given in that form.
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
        if upstream is None or AssetKey.TABLE not in (upstream.definition_metadata or {}):
            raise Refused(f"{context.asset_key.to_user_string()} is not a model of this project.")
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
