"""What Presto means: as Trino, except for what it lacks or sqlglot reads differently."""

from __future__ import annotations

from tests.lakehouse.dialects import trino

_OTHERS = ("LOG", "CONCAT_WS(", "LISTAGG(", "TRIM(")


def _shared(text: str) -> str:
    return "\n".join(each for each in text.split("\n") if not each.startswith(_OTHERS))


VALUES = _shared(trino.VALUES)
ROWS = _shared(trino.ROWS)
REFUSED = (
    trino.REFUSED + "LOG(2, 8)\nCONCAT_WS('-', s, t)\nLISTAGG(s, ',') WITHIN GROUP (ORDER BY s)"
)
