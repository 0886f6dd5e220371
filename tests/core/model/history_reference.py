"""A history kept by hand, row by row, after the sentences of seed 001, *SCD Type 2*.

It shares nothing with the statement that it is compared with: no SQL, no windows, one loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

Values = Mapping[str, object]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Record:
    values: Values
    valid_from: datetime
    valid_to: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Rules:
    key: Sequence[str]
    updated_at: str | None
    compared: Sequence[str] | None
    from_epoch: bool
    closes_missing: bool

    def key_of(self, values: Values) -> tuple[object, ...]:
        return tuple(values[name] for name in self.key)

    def own_time(self, values: Values) -> datetime | None:
        time = values[self.updated_at] if self.updated_at else None
        assert time is None or isinstance(time, datetime)
        return time

    def changed(self, old: Values, new: Values) -> bool:
        before, after = self.own_time(old), self.own_time(new)
        if self.compared is None:
            return after is not None and (before is None or after > before)
        if all(old[name] == new[name] for name in self.compared):
            return False
        return before is None or after is None or after >= before


def look(
    records: Sequence[Record],
    source: Sequence[Values],
    now: datetime,
    rules: Rules,
    *,
    is_first: bool,
) -> list[Record]:
    """The history after its source was looked at."""
    there = {rules.key_of(each): each for each in source}
    known = {rules.key_of(each.values): each for each in records if each.valid_to is None}
    result = [each for each in records if each.valid_to is not None]
    for key, record in known.items():
        if key not in there:
            gone = max(now, record.valid_from)
            result.append(replace(record, valid_to=gone) if rules.closes_missing else record)
        elif rules.changed(record.values, there[key]):
            begins = max(rules.own_time(there[key]) or now, record.valid_from)
            result.append(replace(record, valid_to=begins))
            result.append(Record(values=there[key], valid_from=begins))
        else:
            result.append(record)
    for key, values in there.items():
        if key not in known:
            begins = EPOCH if is_first and rules.from_epoch else _from(records, values, now, rules)
            result.append(Record(values=values, valid_from=begins))
    return result


def _from(records: Sequence[Record], values: Values, now: datetime, rules: Rules) -> datetime:
    """From when a row is valid whose key has no row that is valid now, behind the first load."""
    begins = rules.own_time(values) or now
    for each in records:
        if rules.key_of(each.values) == rules.key_of(values) and each.valid_to is not None:
            begins = max(begins, each.valid_to)
    return begins
