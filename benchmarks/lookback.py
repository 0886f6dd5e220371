"""Sessions against fixed lookbacks, on 14 days of real flights that land when they really left.

*rows* are those that the queries of the two facts return, *CPU* are the seconds of evaluating them
with DuckDB and a catalog in memory (they say nothing of Spark), and *missed* are the rows that the
facts lack at the end. A lookback of 6 hours evaluates each hour together with the 6 before it.

*Hours* are those of the stateful model: *ideal* are the hours whose rows are others than after the
tick before, which is known from computations from scratch.

Each line is a process of its own. With a second argument, `python -m benchmarks.lookback RESULTS
FILE.svg` draws what a run has written.
"""

from __future__ import annotations

import json
import re
import sys
from datetime import timedelta
from pathlib import Path
from typing import Final

from benchmarks.measuring import Settings, Step, cpu_seconds, measured, print_table
from benchmarks.pictures import GRAY, GREEN, Bar, chart, page

DAYS: Final = 14
LOOKBACKS: Final = (6, 12, 24)
SESSIONS: Final = "sessions"
RESULTS: Final = "lookback.json"
LATE_DATA: Final = re.compile(r",\s*late_data \(.*?\n  \)", re.DOTALL)


def facts(strategy: str) -> Step:
    """Load the two facts hour by hour, and count."""
    from tests.flights.expected import differences
    from tests.flights.world import ARRIVALS, DEPARTURES, HOUR, START, FlightsWorld, project
    from vde_dagster.app.catch_up.sessions import catch_up
    from vde_dagster.app.evaluate.evaluated import Evaluated
    from vde_dagster.app.evaluate.evaluation import evaluate
    from vde_dagster.core.time.intervals import Interval

    is_session = strategy == SESSIONS
    graph = project() if is_session else project(change=lambda text: LATE_DATA.sub("", text))
    life, rows, used = FlightsWorld(graph=graph), 0, 0.0
    life.land(START + 12 * HOUR)
    life.build()
    while life.hour < START + timedelta(days=DAYS):
        life.land(life.hour + HOUR)
        services, binding = life.services(), life.binding
        assert binding is not None, "it was built"
        before = cpu_seconds()
        for name in (DEPARTURES, ARRIVALS):
            if is_session:
                done = catch_up(services, binding, name)
                rows += done.rows if isinstance(done, Evaluated) else 0
                continue
            first = max(START, life.hour - (int(strategy) + 1) * HOUR)
            found = evaluate(services, binding, name, Interval(first, life.hour), force=True)
            rows += found.rows
        used += cpu_seconds() - before
    lacking = [
        differences(name, life.rows(name), START, life.hour) for name in (DEPARTURES, ARRIVALS)
    ]
    return {"rows": rows, "CPU": used, "missed": sum(map(len, lacking))}


def hours() -> Step:
    """Load the stateful model hour by hour: the hours that it computes, and the ideal ones."""
    from tests.flights.expected import changed_hours, differences
    from tests.flights.world import HOUR, MODELS, START, STATE, FlightsWorld
    from vde_dagster.app.evaluate.evaluated import Evaluated

    life, computed, ideal = FlightsWorld(), 0, 0
    life.land(START + 12 * HOUR)
    life.build()
    while life.hour < START + timedelta(days=DAYS):
        life.land(life.hour + HOUR)
        done = life.tick()[STATE]
        computed += _hours_of(done) if isinstance(done, Evaluated) else 0
        ideal += len(changed_hours(STATE, START, life.hour - HOUR, life.hour))
    wrong = sum(len(differences(name, life.rows(name), START, life.hour)) for name in MODELS)
    return {"computed": computed, "ideal": ideal, "wrong": wrong}


def _hours_of(done: object) -> int:
    from vde_dagster.app.evaluate.evaluated import Evaluated

    assert isinstance(done, Evaluated)
    length = sum((each.interval.end - each.interval.start for each in done.entries), timedelta())
    return length // timedelta(hours=1)


def main(settings: Settings) -> None:
    """Print a line for each strategy, and keep the numbers for a picture."""
    strategies = (SESSIONS, *map(str, LOOKBACKS))
    found = {
        each: measured([sys.executable, "-m", "benchmarks.lookback", each]) for each in strategies
    }
    stateful = measured([sys.executable, "-m", "benchmarks.lookback", "hours"])
    settings.folder.mkdir(parents=True, exist_ok=True)
    results = settings.folder / RESULTS
    results.write_text(json.dumps({"facts": found, "hours": stateful}))
    whole = found[str(LOOKBACKS[-1])]["rows"]
    rows: list[list[str | float]] = [
        [
            title(name),
            f"{step['rows']:,.0f}",
            f"{step['rows'] / whole:.1%}",
            step["CPU"],
            f"{step['missed']:,.0f}",
        ]
        for name, step in found.items()
    ]
    print(f"Two facts of real flights, {DAYS} days hour by hour")
    print_table(["", "rows", "of 24 hours", "CPU", "missed"], rows)
    ratio = stateful["computed"] / stateful["ideal"]
    print(
        f"The stateful model computed {stateful['computed']:,.0f} hours, ideal are "
        f"{stateful['ideal']:,.0f} ({ratio:.2f}x); {stateful['wrong']:,.0f} rows are wrong."
    )
    print(f"The numbers are in {results}.")


def title(strategy: str) -> str:
    """What a strategy is called."""
    return strategy if strategy == SESSIONS else f"lookback {strategy} h"


def picture(found: dict[str, Step]) -> str:
    """Rows that are read and rows that are missed, as bars in SVG."""
    parts: list[str] = []
    for place, (what, of) in enumerate((("rows read", "rows"), ("rows missed", "missed"))):
        values = [
            Bar(
                label=title(name),
                value=step[of],
                shown=f"{step[of]:,.0f}",
                color=GREEN if name == SESSIONS else GRAY,
            )
            for name, step in found.items()
        ]
        parts += chart(what, values, left=10, top=40 + place * 160, labels=110, longest=400)
    return page(parts, width=640, height=320)


if __name__ == "__main__":
    root = Path(__file__).parents[1]
    sys.path[:0] = [str(root), str(root / "examples" / "nyc_flights")]
    what = sys.argv[1]
    if len(sys.argv) > 2:
        results = json.loads(Path(what).read_text())
        Path(sys.argv[2]).write_text(picture(results["facts"]))
    else:
        print(json.dumps(hours() if what == "hours" else facts(what)))
