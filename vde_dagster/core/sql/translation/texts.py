"""Texts and arrays: what Spark joins, cuts, matches and counts differently.

Its SUBSTRING counts negative positions from the end, its arrays begin at 0, and its regular
expressions are Java's.
"""

from __future__ import annotations

import re
from typing import Final

from sqlglot import exp

from vde_dagster.core.sql.translation.proven_parts import PROVEN
from vde_dagster.core.sql.translation.texts_of_values import advised_text
from vde_dagster.core.sql.translation.values import (
    TRINO,
    UNKNOWN,
    NotInSpark,
    call,
    cast_to,
    kind_of,
    kind_of_type,
    operand,
    refused,
)


def alike(node: exp.Like | exp.ILike, source: str) -> exp.Expr:
    """LIKE with a pattern that all dialects read alike.

    Raises:
        Refused: It has a backslash, or a set of letters of T-SQL.
    """
    marks = ("\\", "[") if source == "tsql" else ("\\",)
    if isinstance(node.expression, exp.Literal) and set(marks) & set(node.expression.name):
        escape = "Escape(expression,this)" in PROVEN[source]
        other = "name a letter with ESCAPE" if escape else "write the model in Spark's dialect"
        advice = f"Leave {' and '.join(marks)} out of the pattern, or {other}"
        raise refused(node, "has a pattern that Spark may read otherwise", advice)
    return node


def added(node: exp.Add, source: str) -> exp.Expr:
    """T-SQL's ``+``, which joins texts.

    Raises:
        Refused: One side is a text and the other is not, or no type is known.
    """
    if _is_length(node.right):
        return node  # a time that was moved by DATEADD
    kinds = {kind_of(node.left, source), kind_of(node.right, source)}
    if "text" in kinds and kinds <= {"text", "null"}:
        return exp.DPipe(this=node.left, expression=node.right, safe=False)
    if "text" in kinds or kinds <= {"", "null"}:
        what = f"is a sum or a text, which {UNKNOWN}" if "" in kinds else "makes a number of a text"
        raise refused(node, what, "Use CONCAT for texts, and CAST for numbers")
    return node


def _is_length(node: exp.Expr) -> bool:
    return isinstance(node.expression if isinstance(node, exp.Mul) else node, exp.Interval)


def connected(node: exp.And | exp.Or, source: str) -> exp.Expr:
    """AND and OR of MySQL, which accepts numbers and texts as conditions; ``||`` is OR there.

    Raises:
        Refused: A side is a number or a text.
    """
    kinds = {kind_of(node.left, source), kind_of(node.right, source)}
    if not kinds & {"text", "integer", "decimal", "double"}:
        return node
    what = "takes a number or a text for a condition"
    if isinstance(node, exp.And):
        raise refused(node, what, "Write conditions on both sides, such as `x <> 0`")
    advice = "Use CONCAT to join texts, and `<> 0` for numbers"
    raise refused(node, f"{what} (`||` is OR in MySQL)", advice)


def length(node: exp.Length, source: str) -> exp.Expr:
    """The length of a text; T-SQL does not count the spaces at its end, MySQL counts bytes."""
    if source == "mysql" and node.args.get("binary"):
        return call("OCTET_LENGTH", node.this)
    if source == "tsql":
        node.set("this", call("RTRIM", node.this))
    return node


def trimmed(node: exp.Trim, source: str) -> exp.Expr:
    """TRIM without letters: in BigQuery it removes all Unicode white space, in Spark spaces."""
    if source == "bigquery" and node.args.get("expression") is None:
        node.set("expression", exp.Literal.string(_WHITE_SPACE))
        node.set("position", node.args.get("position") or "BOTH")
    return node


_WHITE_SPACE: Final = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680"
    + "".join(map(chr, range(0x2000, 0x200B)))
    + "\u2028\u2029\u202f\u205f\u3000"
)
"""Every letter with Unicode's property White_Space."""


def size(node: exp.ArraySize, source: str) -> exp.Expr:
    """The number of an array's elements, which in Postgres is NULL if there are none."""
    if source != "postgres":
        return node
    count = exp.ArraySize(this=node.this)
    return exp.Nullif(this=count, expression=exp.Literal.number(0))


def listed(node: exp.GroupConcat, source: str) -> exp.Expr:
    """Joined texts of rows: the empty text in Snowflake if there are none."""
    if source != "snowflake":
        return node
    whole: exp.Expr = node
    while isinstance(whole.parent, exp.Window | exp.Filter) and whole.arg_key == "this":
        whole = whole.parent
    found = exp.Coalesce(this=whole.copy(), expressions=[exp.Literal.string("")])
    if whole is node:
        return found
    found.type = whole.type
    whole.replace(found)
    return node


def joined(node: exp.Concat | exp.DPipe | exp.ConcatWs, source: str) -> exp.Expr:
    """Joined texts: another value is cast to a text if all dialects write it alike.

    Raises:
        Refused: An operand is no text, whole number or date, or its type is not known.
    """
    if isinstance(node, exp.Concat) and source == "redshift":
        node.set("coalesce", False)  # NULL, unlike sqlglot's translation
    parts = [node.left, node.right] if isinstance(node, exp.DPipe) else list(node.expressions)
    for part in parts:
        given = kind_of(part, source)
        if given in ("integer", "date"):
            part.replace(cast_to(part.copy(), "STRING"))
        elif given not in ("text", "null"):
            what = "Spark writes in another way" if given else UNKNOWN
            advice = advised_text(given, source)
            raise NotInSpark(f"{{}} joins {{}}, which {what}", node, part, advice=f"{advice}.")
    return node


def part_of_text(node: exp.Substring, source: str) -> exp.Expr:
    """SUBSTRING, whose positions below 1 mean something else in each dialect.

    Raises:
        Refused: The position may be less than 1, and Spark would take another part.
    """
    start, length = node.args.get("start"), node.args.get("length")
    if start is None or _positive(start):
        return node
    if source in ("postgres", "redshift", "tsql"):
        one = exp.Literal.number(1)
        if length is not None:
            before = exp.Sub(
                this=exp.Least(this=start.copy(), expressions=[one.copy()], ignore_nulls=True),
                expression=one.copy(),
            )
            total = exp.Add(this=operand(length), expression=exp.paren(before, copy=False))
            node.set("length", call("GREATEST", total, 0))
        node.set("start", call("GREATEST", start, 1))
        return node
    if _positive(_as_written(start)) or (source == "bigquery" and length is None):
        return node
    advice = "Write GREATEST(position, 1)"
    if any(each.startswith("Right(") for each in PROVEN[source]):
        advice += ", or RIGHT to take the end of a text"
    raise refused(node, "takes another part in Spark where the position is below 1", advice)


def _as_written(number: exp.Expr) -> exp.Expr:
    """A number as written, without what was added for Spark: casts, and NULL for GREATEST."""
    holder = exp.Tuple(expressions=[number.copy()])
    for node in list(holder.find_all(exp.Cast, exp.If)):
        if isinstance(node, exp.Cast) and kind_of_type(node.to) == "integer":
            node.replace(node.this)
        elif isinstance(node.args.get("false"), exp.Greatest):
            node.replace(node.args["false"])
    [found] = holder.expressions
    assert isinstance(found, exp.Expr)
    return found


def _positive(node: exp.Expr) -> bool:
    """Whether a number is sure to be 1 or more."""
    match node:
        case exp.Literal():
            return node.name.isdigit() and int(node.name) > 0
        case exp.Paren():
            return _positive(node.this)
        case exp.Greatest():
            return any(map(_positive, (node.this, *node.expressions)))
        case exp.Add():
            sides = (node.left, node.right)
            return any(map(_positive, sides)) and all(_positive(s) or _counted(s) for s in sides)
        case _:
            return False


def _counted(node: exp.Expr) -> bool:
    return isinstance(node, exp.StrPosition | exp.Length)


def end_of_text(node: exp.Left | exp.Right, source: str) -> exp.Expr:
    """LEFT and RIGHT; a negative number of letters means all but so many in Postgres.

    Raises:
        Refused: The number is negative in another dialect.
    """
    number = node.expression
    if _positive(number) or _counted(number) or number.name == "0":
        return node
    if source not in ("postgres", "duckdb"):
        if isinstance(number, exp.Neg):
            raise refused(node, "takes a negative number of letters", "Use SUBSTRING")
        return node
    negative = exp.LT(this=operand(number.copy()), expression=exp.Literal.number(0))
    rest = exp.Add(this=exp.Length(this=node.this.copy()), expression=operand(number.copy()))
    node.set("expression", exp.If(this=negative, true=call("GREATEST", rest, 0), false=number))
    return node


def element(node: exp.Bracket, source: str) -> exp.Expr:
    """An element of an array; Spark counts from 0, and fails if there is none.

    Raises:
        Refused: The position is no literal, or the operand is no array.
    """
    [index, *more] = node.expressions
    if kind_of(node.this, source) != "array" or more or not _is_position(index):
        advice = "Write one position as a number, in an array whose type is known"
        raise refused(node, "is no element of an array at a written position", advice)
    if source in ("bigquery", *TRINO) and not node.args.get("safe"):
        return node
    return call("GET", node.this, int(index.name) - int(node.args.get("offset") or 0))


def _is_position(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and node.name.isdigit()


def pattern(node: exp.Expr, source: str) -> exp.Expr:
    """Regular expressions: only those that all engines read alike.

    Raises:
        Refused: The expression is not a literal of these.
    """
    written = node.args.get("expression")
    if not (isinstance(written, exp.Literal) and _REGULAR.fullmatch(written.name)):
        advice = r"Use letters, digits, ^ $ . * + ? | ( ) [a-z] \d \w \s \. in it, or LIKE"
        raise refused(node, "has a regular expression that Spark may read otherwise", advice)
    if re.search(r"\\[dws]", written.name) and source not in _CLASSES_OF_ASCII:
        advice = "Write the letters that are meant, as in [0-9] or [A-Za-z0-9_]"
        raise refused(node, "has a class of letters that Spark may read otherwise", advice)
    if isinstance(node, exp.RegexpReplace):
        _refuse_replacement(node, written.name, source)
    regular = _as_java(written.name, source)
    if isinstance(node, exp.RegexpLike) and source == "snowflake":  # of the whole text
        regular = rf"\A(?:{regular})\z"
    if isinstance(node, exp.RegexpILike):
        regular = f"(?i){regular}"
    node.set("expression", exp.Literal.string(regular))
    if isinstance(node, exp.RegexpExtract):
        return _matched(node, written.name, source)
    if isinstance(node, exp.RegexpILike):
        return exp.RegexpLike(this=node.this, expression=node.expression)
    return node


_CLASSES_OF_ASCII: Final = frozenset({"duckdb", "bigquery"})
r"""Dialects whose \d and \w are those of ASCII, as Java's."""


def _as_java(regular: str, source: str) -> str:
    """A regular expression for Java, where ``$`` and ``.`` recognize more line ends."""
    ended = regular if source in TRINO else regular.replace("$", r"\z")
    spaced = ended.replace(r"\s", r"[\t\n\f\r ]")
    if "." not in regular.replace(r"\.", ""):
        return spaced
    return f"(?{'s' if source in _DOT_IS_ALL else 'd'}){spaced}"


_DOT_IS_ALL: Final = frozenset({"postgres", "redshift"})
"""Dialects in which a dot matches line ends, too, and the longest match is taken."""


def _matched(node: exp.RegexpExtract, regular: str, source: str) -> exp.Expr:
    """What a regular expression matches; NULL, and not the empty text, if it does not."""
    if re.search(r"\||\)[?*{]", regular):
        raise refused(node, "may match without its group", "Leave | ? and * behind groups out")
    group = node.args.get("group") or exp.Literal.number(
        int(source == "bigquery" and "(" in regular)
    )
    found = call("REGEXP_EXTRACT", node.this, node.expression, group.copy())
    if source == "duckdb":  # the empty text if nothing matches, as in Spark
        return found
    matches = exp.RegexpLike(this=node.this.copy(), expression=node.expression.copy())
    return exp.Case(ifs=[exp.If(this=matches, true=found)])


def _refuse_replacement(node: exp.RegexpReplace, regular: str, source: str) -> None:
    if re.search(regular, "") is not None:
        raise refused(node, "may match an empty text", "Write + for what it has * for")
    several = "|" in regular or len(re.findall(r"[*+?{]", regular)) > 1
    if source in _DOT_IS_ALL and several:
        advice = "Use one repetition in it and no |, or REPLACE"
        raise refused(node, "takes the longest match there, and the first in Spark", advice)
    modifiers, text = node.args.get("modifiers"), node.args["replacement"]
    plain = isinstance(text, exp.Literal) and not set(text.name) & {"\\", "$"}
    if not plain or (modifiers is not None and modifiers.name != "g"):
        advice = "Replace by a text without \\ and $, everywhere, or use REPLACE"
        raise refused(node, "replaces in a way that Spark has not", advice)


_REGULAR: Final = re.compile(
    r"(?:\\[dws.]|\[\^?[\w .,-]+\]|\((?!\?)|\)|\{\d+(?:,\d*)?\}|[*+?](?![?+])|[^\\\[\](){}*+?&])*"
)
