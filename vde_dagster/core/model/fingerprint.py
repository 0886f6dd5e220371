"""Fingerprints of models (seed 000, *Fingerprinting*): what is hashed, and how.

The parts are in two lists, one for data and one for metadata. A part is a canonical value, never
source text. Adding a part, or changing what one means, changes ``SCHEME``, so that an old
fingerprint is never mistaken for a new one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cached_property
from typing import Final

from sqlglot import exp

from vde_dagster.core.model.kinds import (
    IncrementalByPartition,
    IncrementalByTimeRange,
)
from vde_dagster.core.model.metadata_parts import LOADING_OPTIONS, described_parts
from vde_dagster.core.model.model import (
    SESSION,
    Model,
    PythonFunction,
    Query,
    SeedRows,
)
from vde_dagster.core.model.python_form import python_form
from vde_dagster.core.model.seed_rows import seed_lines
from vde_dagster.core.names import TableName
from vde_dagster.core.sql.canonical import CanonicalQuery
from vde_dagster.core.sql.canonical_form import canonical_form
from vde_dagster.core.sql.data_names import (
    has_nameless_columns,
    keep_data_names,
    normalized_names,
    takes_all_names,
    words_of,
)
from vde_dagster.core.sql.table_names import definition_of
from vde_dagster.core.time.intervals import format_instant

SCHEME: Final = "vde/4"
DIGEST_BYTES: Final = 16


@dataclass(frozen=True, kw_only=True)
class Fingerprint:
    """Four hashes of 128 bits, as 32 hexadecimal digits each.

    ``parent_data`` and ``parent_metadata`` follow from everything upstream, not only from the
    direct parents.
    """

    data: str
    parent_data: str
    metadata: str
    parent_metadata: str

    @cached_property
    def digest(self) -> str:
        """One hash that identifies the model snapshot."""
        return hash_parts(SCHEME, self.data, self.parent_data, self.metadata, self.parent_metadata)

    @cached_property
    def data_version(self) -> str:
        """The version of a snapshot that keeps no older one: what its rows follow from."""
        return hash_parts(SCHEME, self.data, self.parent_data)

    @cached_property
    def definition(self) -> str:
        """What rows and audits follow from apart from the rows that are read.

        So what is upstream counts by its data alone.
        """
        return hash_parts(SCHEME, self.data, self.parent_data, self.metadata)

    @property
    def version_apart(self) -> str:
        """A version of this snapshot alone, for where that of its data has other rows."""
        return hash_parts(self.data_version, self.digest)


def hash_parts(*parts: str) -> str:
    """A 128-bit hash of texts, each with its length, so that no two lists run together."""
    digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return digest.hexdigest()


def fingerprint(
    model: Model, canonical: CanonicalQuery | None, parents: Iterable[Fingerprint]
) -> Fingerprint:
    """The fingerprint of a model, given those of its direct parents in any order."""
    known = list(parents)
    return Fingerprint(
        data=hash_parts(*data_parts(model, canonical)),
        parent_data=hash_parts(*sorted(each.data + each.parent_data for each in known)),
        metadata=hash_parts(*metadata_parts(model, canonical)),
        parent_metadata=hash_parts(*sorted(each.metadata + each.parent_metadata for each in known)),
    )


def view_version(
    data_hash: str, reads: Sequence[TableName], *, embedded: Iterable[str] = ()
) -> str:
    """The version of a VIEW: it is rebuilt whenever what it reads has another name (rule R1).

    ``embedded`` are the data hashes of the EMBEDDED models that are inlined in its query.
    """
    return hash_parts(SCHEME, data_hash, *sorted(embedded), *sorted(str(each) for each in reads))


def bounded_version(data_version: str, since: datetime, reads: Iterable[TableName]) -> str:
    """The version of what a definition gives from an instant on.

    Args:
        data_version: That of the model's fingerprint.
        since: The instant.
        reads: The tables of what it reads that is bounded itself, since its rows follow from them.
    """
    tables = sorted(str(each) for each in reads)
    return hash_parts(SCHEME, "bounded", data_version, format_instant(since), *tables)


def data_parts(model: Model, canonical: CanonicalQuery | None) -> tuple[str, ...]:
    """What the rows of a model, or their storage, follow from: ``name=value`` each."""
    return (
        f"scheme={SCHEME}",
        f"name={model.name}",
        *(f"{part}={value}" for part, value in loading_parts(model).items()),
        f"storage={_storage_part(model)}",
        f"stamp={model.stamp}",
        *(f"column={column.name.lower()} {column.type}" for column in model.columns),
        *(f"statement={each}" for each in statement_parts(model)),
        f"body={_body_part(model, canonical)}",
    )


def loading_parts(model: Model) -> dict[str, str]:
    """What decides, apart from a model's body, which rows its table has: values by their names."""
    windows = [f"{name} {each}" for name, each in sorted(model.windows.items())]
    return {
        "kind": _kind_part(model),
        "partitions": _replaced_part(model),
        "unit": model.unit.value if _is_incremental(model) else "",
        "late_data": _late_data_part(model),
        "range": _range_part(model),
        "windows": " ".join(windows),
        "session": _session_part(model),
    }


def metadata_parts(model: Model, canonical: CanonicalQuery | None) -> tuple[str, ...]:
    """What people read about a model, when it is due and how it is loaded: it changes no row."""
    return (f"scheme={SCHEME}", *described_parts(model, canonical))


_NO_ROWS: Final = ("path", "partition_by_time_column", "independent")
"""Options that are not part of a kind here: they are in the storage's part, or a promise."""


_LATER: Final = ("sequence_by", "delete_when")
"""Options that earlier releases did not have: they count where they are given."""


def _kind_part(model: Model) -> str:
    options = (
        f"{option.name}={_option(getattr(model.kind, option.name))}"
        for option in fields(model.kind)
        # A seed's content counts, not the place of its file.
        if option.compare
        and option.name not in (*_NO_ROWS, *LOADING_OPTIONS)
        and (option.name not in _LATER or getattr(model.kind, option.name))
    )
    return " ".join([model.kind.keyword, *options])


def _option(value: object) -> str:
    match value:
        case exp.Expr():
            return canonical_form(value)
        case tuple():
            return f"[{', '.join(map(_option, value))}]"
        case _:
            return repr(value)


def _storage_part(model: Model) -> str:
    storage = model.storage
    parts = (
        _partition_part(model),
        storage.clustered_by,
        storage.storage_format,
        storage.properties,
    )
    return repr(parts) if any(parts) else ""


def _partition_part(model: Model) -> list[str]:
    """How a table is partitioned; the time column is a part by default (seed 001, *Partitioning*).

    Naming just the time column says what is so anyway.
    """
    kind, fields = model.kind, model.storage.partitioned_by
    if not isinstance(kind, IncrementalByTimeRange):
        return [str(each) for each in fields]
    given = ["time" if str(each) == kind.time_column else str(each) for each in fields]
    covered = any(each.column == kind.time_column for each in fields)
    return ["time", *given] if kind.partition_by_time_column and not covered else given


def _replaced_part(model: Model) -> str:
    """What distinguishes the partitions that new rows replace as a whole: a key."""
    if not isinstance(model.kind, IncrementalByPartition):
        return ""
    return ", ".join(sorted(map(str, model.storage.partitioned_by)))


def _is_incremental(model: Model) -> bool:
    """Whether a model is evaluated in pieces of its interval unit."""
    return model.kind.is_by_interval


def follows_from_range(model: Model) -> bool:
    """Whether a model's rows may follow from where its intervals start: it has time macros."""
    return bool(_range_part(model))


def _range_part(model: Model) -> str:
    """What the time macros stand for where rows follow from it.

    A piece of a time range, or what is appended for it, has its rows whenever the model starts. The
    other kinds merge each piece into what the ones before it left, or are evaluated as a whole, up
    to the model's end.
    """
    if not model.kind.range_shapes_rows:
        return ""
    body = model.body
    if not isinstance(body, PythonFunction | Query):
        return ""
    if isinstance(body, Query) and not body.is_timed:
        return ""
    ends = model.end is not None and not _is_incremental(model)
    end = format_instant(model.end) if ends and model.end is not None else ""
    return f"{format_instant(model.start)} {model.unit.value} {end}"


def _session_part(model: Model) -> str:
    """The settings of Spark's session that results may follow from, where they are not defaults."""
    computed = isinstance(model.body, Query | PythonFunction)
    return model.source.defaults.get(SESSION, "") if computed else ""


def _late_data_part(model: Model) -> str:
    policy = model.late_data
    if policy is None:
        return ""
    tracked = sorted(f"{each.name} {each.tracked_by}" for each in policy.tracked)
    return f"{policy.mode.value} {tracked}"


def _body_part(model: Model, canonical: CanonicalQuery | None) -> str:
    match model.body:
        case Query():
            assert canonical is not None, f"{model.name} has a query but no canonical form"
            return canonical.meaning.digest
        case PythonFunction() as body:
            imports = json.dumps(body.imports, sort_keys=True)
            form = f"{body.function} {python_form(body.source)} {_variables_part(body.variables)}"
            return f"{form} {imports}"
        case SeedRows(text=text):
            return _seed_part(text)
        case None:
            return ""


def statement_parts(model: Model) -> list[str]:
    """The pre- and post-statements of a query or function; they may do anything.

    The case of names counts where they define something, since a reader of that may see it.
    """
    body = model.body
    if not (isinstance(body, Query | PythonFunction) and (body.before or body.after)):
        return []  # without a look at the text of a query, which may be kept packed
    places = (("before", body.before, body.text.before), ("after", body.after, body.text.after))
    return [
        f"{place} {canonical_form(_named_alike(each))}{_names_given(each, written)}"
        for place, statements, texts in places
        for each, written in zip(statements, texts, strict=True)
    ]


def _names_given(statement: exp.Expr, text: str) -> str:
    """The words of a statement in Spark's dialect where Spark calls columns by what they say."""
    seen = definition_of(statement) is not None or takes_all_names(statement)
    return f" {words_of(text)}" if seen and has_nameless_columns(statement) else ""


def _named_alike(statement: exp.Expr) -> exp.Expr:
    """A copy of a statement in which the case of names that are not data does not count."""
    if definition_of(statement) is None and not takes_all_names(statement):
        return normalized_names(statement)
    named = statement.copy()
    keep_data_names(named)
    return named


def _seed_part(text: str) -> str:
    """The rows of a seed in no order."""
    return hashlib.sha256(json.dumps(seed_lines(text)).encode()).hexdigest()


def _variables_part(variables: Mapping[str, object]) -> str:
    return json.dumps(variables, sort_keys=True) if variables else ""
