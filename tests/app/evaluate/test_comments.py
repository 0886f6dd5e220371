"""A comment at the end of an author's text ends there, wherever the text is inserted."""

from __future__ import annotations

from datetime import date

from tests.app.memory_world import PROJECT, MemoryWorld, graph_of

KEYED = """
MODEL (
  name mart.keyed,
  kind INCREMENTAL_BY_UNIQUE_KEY (
    unique_key ('COALESCE(day, DATE ''1970-01-01'') -- the day'),
    when_matched (
      'WHEN MATCHED AND target.amount > 1000 THEN DELETE -- too many',
      'WHEN MATCHED THEN UPDATE SET target.amount = source.amount -- the newest'
    ),
    merge_filter 'target.day IS NOT NULL -- always'
  ),
  audits (
    forall (criteria := (
      amount > 0, -- some
      day IS NOT NULL -- some day
    ))
  )
);
SELECT day, amount FROM mart.daily -- all of them
"""


def test_a_comment_at_the_end_of_a_text_takes_nothing_with_it() -> None:
    world = MemoryWorld()
    texts = {"events": PROJECT["events"], "daily": PROJECT["daily"], "keyed": KEYED}
    world.land((1, 10), (30, 5), until=48)
    world.build(graph_of(texts))
    world.land((50, 7), until=72)
    world.build(graph_of(texts))
    assert world.rows("mart.keyed") == [
        (date(2024, 1, 1), 10),
        (date(2024, 1, 2), 5),
        (date(2024, 1, 3), 7),
    ]
