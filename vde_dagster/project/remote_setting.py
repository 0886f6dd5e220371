"""``spark.remote`` in ``vde.yaml``: the address of a Spark Connect server."""

from __future__ import annotations

from vde_dagster.core.connect_address import ConnectAddress
from vde_dagster.core.secrets import Secret, remember, secrets_in
from vde_dagster.project.yaml_document import Entry, Reader


def read_remote(entry: Entry | None, reader: Reader) -> Secret | None:
    """The address, which may have a token in it; None where there is none.

    What is no address is a problem, which does not repeat it.
    """
    text = reader.text(entry, "")
    if entry is None or not text:
        return None
    remember(secrets_in(text))
    try:
        ConnectAddress.parse(text)
    except ValueError as error:
        reader.add(
            entry.place,
            f"spark.remote is no address of a Spark Connect server: {error}",
            "Write sc://host:port, with parameters behind it as in sc://host:port/;use_ssl=true.",
        )
    return Secret(text)
