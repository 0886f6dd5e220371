"""A project whose columns are decimals that Spark's rules make longer from model to model."""

from __future__ import annotations

from pathlib import Path

from vde_dagster.project.loading import ProjectFiles, load_project

FILES = {
    "vde.yaml": "name: amounts\ndefaults:\n  start: 2024-01-01\n",
    "seeds/raw.csv": "cust,day,amt\na,2024-01-01,1.50\nb,2024-01-02,2.25\n",
    "models/mart/raw.sql": """MODEL (
  name mart.raw, kind SEED (path '../../seeds/raw.csv'),
  columns (cust string, day date, amt decimal(10, 2))
);
""",
    "models/mart/daily.sql": """MODEL (name mart.daily, kind FULL);
SELECT cust, day, SUM(amt) AS total FROM mart.raw GROUP BY cust, day
""",
    "models/mart/agg.sql": """MODEL (name mart.agg, kind FULL);
SELECT cust, AVG(total) AS a, SUM(total) / 3 AS d FROM mart.daily GROUP BY cust
""",
    "models/mart/fin.sql": """MODEL (name mart.fin, kind FULL);
SELECT cust, a * 3 = 0.3 AS f, d AS d FROM mart.agg
""",
    "models/mart/modes.sql": """MODEL (name mart.modes, kind FULL);
SELECT cust, mode(amt) AS often FROM mart.raw GROUP BY cust
""",
    "models/mart/often.sql": """MODEL (name mart.often, kind FULL);
SELECT cust, often + 1 AS more FROM mart.modes
""",
}


def amounts(folder: Path, tests: str = "") -> ProjectFiles:
    """The project with a file of tests."""
    for name, text in {**FILES, "tests/t.yaml": tests}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.suffix == ".yaml":
            path.write_text(text, encoding="utf-8")
    return load_project(folder)
