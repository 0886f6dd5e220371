"""Spans that a plan leaves in OpenTelemetry's own recorder, and that they are silent without."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.app.memory_world import MemoryWorld, graph_of, plan
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.core.planning.scheduling import Concurrency
from vde_dagster.runtime import spans
from vde_dagster.runtime.spans import span, span_of_threads, spent_on

FULL = "MODEL (name mart.{}, kind FULL);\nSELECT {} AS amount FROM {}"


@pytest.fixture
def exported(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """What was exported, by the recorder of OpenTelemetry's SDK in place of none."""
    provider, exporter = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(spans, "_TRACER", provider.get_tracer("vde_dagster"))
    yield exporter
    provider.shutdown()


@pytest.mark.parametrize("models", [1, 2])
def test_each_unit_of_work_is_a_span_of_its_plan_whatever_thread_did_it(
    exported: InMemorySpanExporter, models: int
) -> None:
    world = MemoryWorld()
    world.land((1, 10), (2.5, 20), until=24)
    services = world.services()
    a = FULL.format("a", "SUM(amount)", "raw.events")
    made = plan(services, graph_of({"a": a, "b": FULL.format("b", "amount * 2", "mart.a")}))
    done = apply_plan(services, made, lambda _: None, concurrency=Concurrency(models=models))
    found = exported.get_finished_spans()
    (apply,) = [each for each in found if each.name == "apply"]
    assert apply.attributes == {"vde.plan_id": made.plan_id, "vde.environment": "prod"}
    works = {}
    for each in found:
        if each.attributes and "vde.work_id" in each.attributes:
            assert around(each, found) is apply
            works[each.name] = each.attributes["vde.work_id"]
    assert works == {str(unit.key.model): unit.work_id for unit in done}
    within = {around(each, found) for each in found if each.name == "state"}
    assert {"mart.a", "mart.b"} <= {each.name for each in within if each is not None}


def around(inner: ReadableSpan, found: tuple[ReadableSpan, ...]) -> ReadableSpan | None:
    ids = {each.context.span_id: each for each in found if each.context is not None}
    return ids.get(inner.parent.span_id) if inner.parent is not None else None


def test_of_an_error_only_its_type_is_told(exported: InMemorySpanExporter) -> None:
    with pytest.raises(ValueError, match="password"), span("Spark"):
        raise ValueError("password=hunter2")
    (failed,) = exported.get_finished_spans()
    assert failed.status.status_code is trace.StatusCode.ERROR
    assert (failed.status.description, failed.events) == ("ValueError", ())
    assert "hunter2" not in failed.to_json()


def test_public_methods_of_a_class_are_spans(exported: InMemorySpanExporter) -> None:
    @spent_on("catalog")
    class Store:
        def load(self) -> int:
            return self._read()

        def _read(self) -> int:
            return 7

    assert Store().load() == 7
    assert [each.name for each in exported.get_finished_spans()] == ["catalog load"]


def test_nothing_is_recorded_where_nobody_exports() -> None:
    with span_of_threads("apply", plan_id="p"), span("Spark") as current:
        assert not current.is_recording()
