"""Projects as people write them: all problems at once, each with file, line and advice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.written_project import problems_of
from vde_dagster.core.errors import ProjectInvalid
from vde_dagster.core.graph.graph import build_graph
from vde_dagster.core.ledger.traces import why_nondeterministic
from vde_dagster.core.planning.decisions import Mode
from vde_dagster.project.configuration import read_configuration
from vde_dagster.project.loading import load_files, load_for_comparison, load_project
from vde_dagster.project.model_files import read_model
from vde_dagster.runtime.secrets import Secret

EXAMPLE = Path(__file__).parents[2] / "examples" / "nyc_flights"
YAML = "name: shop\ndefaults:\n  start: 2024-01-01\n"
SOURCES = "- name: raw.t\n  columns: {a: int, b: string, ts: timestamp}\n"


def write(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, text in {"vde.yaml": YAML, "external_models.yaml": SOURCES, **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def reported(folder: Path) -> list[tuple[str, str]]:
    """Place and message of each problem; every one has advice."""
    return [(str(each.place), each.message) for each in problems_of(lambda: load_project(folder))]


def test_every_bad_input_is_reported_once_with_file_line_and_advice_and_nothing_is_written(
    tmp_path: Path,
) -> None:
    write(
        tmp_path,
        {
            "vde.yaml": "name: shop\n\nunknwon:\n  x: 1\ndefault:\n  cron: '@daily'\n",
            "models/m/broken.sql": "MODEL (name m.broken);\n\nSELECT a FROM\n  WHERE a >",
            "models/m/reads_broken.sql": "SELECT a FROM m.broken",
            "models/m/orphan.sql": "\nMODEL (name m.orphan);\nSELECT a FROM raw.nowhere",
            "models/m/below.sql": "SELECT nope FROM m.orphan",
            "models/m/one.sql": "SELECT a FROM m.two",
            "models/m/two.sql": "SELECT a FROM m.one",
            "models/m/first.sql": "MODEL (name m.same);\nSELECT 1 AS a",
            "models/m/second.sql": "MODEL (name m.same);\nSELECT 2 AS a",
            "models/m/property.sql": "MODEL (\n  name m.property,\n  ownr 'me'\n);\nSELECT 1 AS a",
            "models/m/kind.sql": "MODEL (\n  name m.kind,\n  kind FULLL\n);\nSELECT 1 AS a",
        },
    )
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ProjectInvalid) as caught:
        load_project(tmp_path)
    assert all(each.advice for each in caught.value.problems)
    found = [(str(each.place), each.message) for each in caught.value.problems]
    expected = [
        ("models/m/below.sql:1", "the inputs have no column 'nope'"),
        ("models/m/broken.sql:4", "does not parse"),
        ("models/m/kind.sql:3", "unknown kind FULLL"),
        ("models/m/one.sql:1", "cycle"),
        ("models/m/orphan.sql:3", "reads raw.nowhere"),
        ("models/m/property.sql:3", "unknown property 'ownr'"),
        ("models/m/second.sql:1", "m.same is taken by models/m/first.sql"),
        ("vde.yaml:3", "unknown key 'unknwon'"),
        ("vde.yaml:5", "unknown key 'default'"),
    ]
    assert len(found) == len(expected), found
    for (place, message), (where, words) in zip(found, expected, strict=True):
        assert words in message
        assert place == where or "cycle" in message
    assert "Did you mean 'defaults'?" in str(caught.value)
    assert "Did you mean owner?" in str(caught.value)
    assert "Did you mean FULL?" in str(caught.value)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "yaml,line,words",
    [
        ("nme: x\nname: y\n", 1, "nme"),
        ("name: x\ncatalog:\n  nam: y\n", 3, "nam"),
        ("name: x\nstate:\n  url: ${VDE_NOT_SET}\n", 3, "VDE_NOT_SET"),
        ("name: [x]\n", 1, "single value"),
        ("name: x\ndefaults: [a]\n", 2, "mapping"),
        ("name: x\ndefaults: {start: soon}\n", 2, "start"),
        ("name: x\ndefaults: {dialect: klingon}\n", 2, "klingon"),
        ("name: x\ndefaults:\n  cron: often\n", 3, "often"),
        ("name: x\ndefaults:\n  freshness: often\n", 3, "'often' is not a valid duration"),
        ("name: x\ndefaults:\n  freshness: 10 seconds\n", 3, "shorter than a minute"),
        ("name: x\ndefaults:\n  updates_on: some\n", 3, "updates_on has to be any or all"),
        (f"name: x\ndefaults:\n  retries: {'1' * 5000}\n", 3, "retries has to be a whole number"),
        (
            "name: x\ndagster:\n  pool: a pool\n",
            3,
            "'a pool' is not a valid name of a Dagster pool",
        ),
        ("name: x\ndagster:\n  pol: a\n", 3, "pol"),
        ("name: x\nclock: moon\n", 2, "moon"),
        ("name: x\nclock: [wall]\n", 2, "clock"),
        ("name: x\nclock: {valid_to: {a: b}}\n", 2, "list"),
        ("name: x\nspark: {conf: text}\n", 2, "mapping"),
        ("name: x\nenvironments: [dev]\n", 2, "environments"),
        ("name: x\nenvironments: {dev: {follow_files: maybe}}\n", 2, "maybe"),
        ("name: x\nenvironments: {'//': {}}\n", 2, "//"),
        ("name: x\nstrict_columns: perhaps\n", 2, "perhaps"),
        ("name: x\ndsha_algorithm: md5\n", 2, "md5"),
        ("name: x\ncategorize: asks\n", 2, "asks"),
        ("name: x\ncategorize: [ask]\n", 2, "single value"),
        ("name: x\nenvironments: {dev: {categorize: off}}\n", 2, "automatic, ask or always"),
        ("name: x\nname: y\n", 2, "twice"),
        ("name: x\n? [a, b]\n: c\n", 2, "single word"),
        ("name: x\n  bad: indent\n", 2, "YAML"),
        ("name: 'x\n", 2, "YAML"),
        ("- name: x\n", 1, "mapping"),
        ("a: &a [*a]\n", 1, "nested"),
        pytest.param("[" * 1100, 1, "", id="1100 brackets"),
        pytest.param("[" * 5000, 1, "", id="5000 brackets", marks=pytest.mark.full),
        (
            "a: &a [1,1,1,1,1,1,1,1,1,1]\n"
            + "".join(
                f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 10)}]\n"
                for i in range(8)
            ),
            1,
            "100,000 entries",
        ),
        (b"\xff\xfe\x00\x01", 1, "UTF-8"),
        (b"name: x\n\x00", 1, "YAML"),
        ("", 1, "no name"),
    ],
)
def test_a_wrong_vde_yaml_is_reported_with_its_line(
    tmp_path: Path, yaml: str | bytes, line: int, words: str
) -> None:
    found = reported(write(tmp_path, {"vde.yaml": yaml}))
    assert any(place == f"vde.yaml:{line}" and words in message for place, message in found), found
    with pytest.raises(ProjectInvalid):
        read_configuration(tmp_path)


def test_the_environment_of_the_process_fills_in_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VDE_TEST_URL", "sqlite:////x")
    write(tmp_path, {"vde.yaml": "\ufeffname: x\nstate:\r\n  url: ${VDE_TEST_URL}\nspark:\n"})
    found = read_configuration(tmp_path)
    assert (found.name, found.state_url) == ("x", Secret("sqlite:////x"))


def test_production_never_follows_files(tmp_path: Path) -> None:
    text = "name: x\nenvironments: {PROD: {follow_files: true}, Dev: {follow_files: false}}\n"
    found = read_configuration(write(tmp_path, {"vde.yaml": text}))
    assert [found.follows_files(each) for each in ("prod", "dev", "other")] == [False, False, True]


def test_an_environment_asks_as_it_says_itself_or_else_as_the_project_does(tmp_path: Path) -> None:
    text = "name: x\ncategorize: ask\nenvironments: {Dev: {categorize: always}, other: {}}\n"
    found = read_configuration(write(tmp_path, {"vde.yaml": text}))
    modes = {"prod": Mode.ASK, "dev": Mode.ALWAYS, "other": Mode.ASK}
    assert {name: found.mode(name) for name in modes} == modes
    silent = read_configuration(write(tmp_path, {"vde.yaml": "name: x\n"}))
    assert silent.mode("prod") is Mode.AUTOMATIC


def test_variables_that_take_their_value_from_outside_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SALT", "s")
    text = "name: x\nvariables: {A: '${SALT}', b: [1, 'x${SALT}'], c: plain, d: [1, 2]}\n"
    found = read_configuration(write(tmp_path, {"vde.yaml": text}))
    assert found.outside_variables == {"a", "b"}
    assert found.variables == {"a": "s", "b": [1, "xs"], "c": "plain", "d": [1, 2]}


def test_a_folder_without_vde_yaml_is_no_project(tmp_path: Path) -> None:
    assert "not a project" in reported(tmp_path)[0][1]


HOSTILE: list[str | bytes] = [
    "",
    "-- only a comment",
    "/* never closed",
    "MODEL (",
    "MODEL (name m.x",
    "MODEL (name m.x); SELECT 'open",
    "MODEL (owner 'open); SELECT 1 AS a",
    "SELECT 1",
    "SELECT COUNT(*) FROM raw.t",
    "SELECT 1 AS a; SELECT 2 AS b",
    "SELECT a FROM cat.raw.t",
    "SELECT a FROM raw.t AS t, raw.t AS t",
    "DROP TABLE raw.t",
    "MODEL (kind FULL cron '@hourly'); SELECT 1 AS a",
    "MODEL (start '0001-01-01T00:00+14:00'); SELECT 1 AS a",
    "MODEL (name a.b.c); SELECT 1 AS a",
    "MODEL (dialect klingon); SELECT 1 AS a",
    "MODEL (columns (a nonsense)); SELECT 1 AS a",
    "MODEL (columns (a int, a int)); SELECT 1 AS a",
    "MODEL (late_data ()); SELECT 1 AS a",
    "SELECT @strat_dt AS a",
    "SELECT {{ ref('x') }} AS a",
    "SELECT " + "(" * 5000 + "1" + ")" * 5000 + " AS a",
    "SELECT " + "=".join(["TRUE"] * 5000) + " AS a",
    b"\xff\xfe\x00S\x00E",
    b"\x00\x01\x02",
    "MODEL (kind SEED (path '../../../outside.csv'))",
    "MODEL (kind SEED (path 'link.csv'))",
    "MODEL (kind SEED (path 'binary.csv'))",
    "MODEL (kind SEED (path 'a\x00b.csv'))",
    "MODEL (kind SEED (path '.'))",
    "MODEL (kind SEED)",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_model_file_is_one_problem_of_that_file(
    tmp_path: Path, text: str | bytes
) -> None:
    (tmp_path / "outside.csv").write_text("secret\n1\n")
    folder = write(tmp_path / "shop", {"models/m/x.sql": text, "models/m/binary.csv": b"\xff"})
    (folder / "models/m/link.csv").symlink_to(tmp_path / "outside.csv")
    found = reported(folder)
    assert [place.split(":")[0] for place, _ in found] == ["models/m/x.sql"], found


@pytest.mark.parametrize("path", ["../../../outside.csv", "link.csv"])
def test_a_seed_outside_of_the_project_is_refused_clearly(tmp_path: Path, path: str) -> None:
    (tmp_path / "outside.csv").write_text("secret\n1\n")
    folder = write(
        tmp_path / "shop", {"models/m/x.sql": f"MODEL (name m.x, kind SEED (path '{path}'))"}
    )
    (folder / "models/m/link.csv").symlink_to(tmp_path / "outside.csv")
    with pytest.raises(ProjectInvalid, match="outside of the project") as caught:
        load_project(folder)
    assert "secret" not in str(caught.value)


def test_windows_line_ends_and_a_byte_order_mark_change_nothing(tmp_path: Path) -> None:
    text = "MODEL (name m.x, owner 'me');\nSELECT a, -- the key\n b\nFROM raw.t\n"
    plain = load_project(write(tmp_path / "a", {"models/m/x.sql": text}))
    dressed = "\ufeff" + text.replace("\n", "\r\n")
    other = load_project(write(tmp_path / "b", {"models/m/x.sql": dressed}))
    fingerprints = [{n.name: n.fingerprint for n in each.graph} for each in (plain, other)]
    assert fingerprints[0] == fingerprints[1]


def test_a_seed_is_found_though_an_apostrophe_stands_before_it(tmp_path: Path) -> None:
    text = "-- the airline's names\nMODEL (name m.x, kind SEED (path '../../seeds/a.csv'));\n-- end"
    files = load_project(write(tmp_path, {"models/m/x.sql": text, "seeds/a.csv": "a,b\n1,2\n"}))
    (found,) = [node for node in files.graph if str(node.name) == "m.x"]
    assert [column.name for column in found.columns] == ["a", "b"]


def test_what_is_wrong_in_a_seeds_file_is_reported_there_and_not_to_its_readers(
    tmp_path: Path,
) -> None:
    header = "MODEL (name m.x, kind SEED (path '../../seeds/a.csv'), columns (id int, d date))"
    files: dict[str, str | bytes] = {
        "models/m/x.sql": header,
        "models/m/y.sql": "SELECT id, nope FROM m.x",
        "seeds/a.csv": "id,d\n1,2024-01-01\nx,2024-13-01\n",
    }
    assert reported(write(tmp_path, files)) == [
        ("seeds/a.csv:3", "the seed m.x: column id: 'x' is not of type int"),
        ("seeds/a.csv:3", "the seed m.x: column d: '2024-13-01' is not of type date"),
    ]


@pytest.mark.parametrize(
    "text,line",
    [
        ("name: raw.t\n", 1),
        ("- columns: {a: int}\n", 1),
        ("- name: raw.t\n", 1),
        ("- name: raw.t\n  columns:\n    a: nonsense\n", 3),
        ("- name: a.b.c\n  columns: {a: int}\n", 1),
        ("- name: raw.t\n  colums: {a: int}\n", 2),
        ("- text\n", 1),
        (b"\xff\xff", 1),
    ],
)
def test_wrong_sources_are_reported_and_their_readers_are_not(
    tmp_path: Path, text: str | bytes, line: int
) -> None:
    found = reported(write(tmp_path, {"external_models.yaml": text}))
    assert f"external_models.yaml:{line}" in [place for place, _ in found]
    assert {place.split(":")[0] for place, _ in found} == {"external_models.yaml"}


@pytest.mark.full
def test_every_model_of_the_example_is_read_back_from_its_stored_source() -> None:
    files = load_project(EXAMPLE)
    assert load_files(read_configuration(EXAMPLE)).graph == files.graph
    assert len(files.graph.nodes) >= 13
    again = build_graph(read_model(node.model.source) for node in files.graph)
    for node in files.graph:
        assert again[node.name].model == node.model
        assert again[node.name].fingerprint == node.fingerprint


OFF = "MODEL (name m.off, kind FULL, enabled false);\nSELECT 1 AS a"


@pytest.mark.parametrize(
    "files,reported",
    [
        ({"models/m/x.sql": "SELECT a FROM other.raw.t"}, "another catalog"),
        ({"models/m/x.sql": "SELECT a, b FROM raw.other"}, "declared source"),
        ({"models/m/x.sql": "SELECT a FROM m.off", "models/m/off.sql": OFF}, "disabled"),
        ({"models/m/x.sql": "SELECT a FROM m.y", "models/m/y.sql": "SELECT FROM"}, "y.sql"),
        ({"models/m/x.sql": "SELECT a FROM m.x"}, "itself"),
    ],
)
def test_what_is_wrong_is_one_problem_for_a_comparison(
    tmp_path: Path, files: dict[str, str | bytes], reported: str
) -> None:
    with pytest.raises(ProjectInvalid, match=reported) as caught:
        load_for_comparison(write(tmp_path, files))
    assert len(caught.value.problems) == 1


@pytest.mark.full
def test_whatever_the_example_has_is_kept_where_its_inputs_are_the_same() -> None:
    graph = load_project(EXAMPLE).graph
    found = {str(node.name): why_nondeterministic(graph, node.name) for node in graph}
    computed = {name: why for name, why in found.items() if why}
    assert computed == {}
