"""Loading a table, where it is certain that there is none if that is said.

For pyiceberg any 404 says that there is no table, also that of a page of something on the way.
"""

from __future__ import annotations

import sys

from pydantic import ValidationError
from pyiceberg.catalog import Catalog as PyIcebergCatalog
from pyiceberg.exceptions import NoSuchTableError, RESTError, ServiceUnavailableError
from pyiceberg.table import Table
from sqlalchemy.exc import DBAPIError

from vde_dagster.core.names import TableName

LOST = (DBAPIError, RESTError, OSError, ValidationError, NotImplementedError)
"""What pyiceberg raises where it is not known whether a commit was made.

The last two are its errors for a page with the status 200, and for any answer 501.
"""


def load(catalog: PyIcebergCatalog, name: TableName) -> Table:
    """A table with its newest metadata.

    Raises:
        NoSuchTableError: The catalog itself says that there is none.
        RESTError: It does not say whether there is one.
        RequestException: There was no answer.
    """
    try:
        return catalog.load_table((name.namespace, name.name))
    except (NoSuchTableError, ValidationError) as error:
        if _is_there(catalog, name) and isinstance(error, NoSuchTableError):
            raise ServiceUnavailableError(
                f"the catalog says that {name} is there, and that it is not"
            ) from error
        raise


def _is_there(catalog: PyIcebergCatalog, name: TableName) -> bool:
    """Whether a REST catalog says that there is a table; False for other sorts of catalogs."""
    if "pyiceberg.catalog.rest" not in sys.modules:  # then it is none, and nothing is loaded
        return False
    from pyiceberg.catalog.rest import RestCatalog

    from vde_dagster.lakehouse.rest_requests import RestRequests

    return isinstance(catalog, RestCatalog) and RestRequests(catalog).table(name) is not None
