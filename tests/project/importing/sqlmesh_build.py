"""Run where SQLMesh is: builds the project in some folders, and prints the rows of its models."""

from __future__ import annotations

import json
import logging
import random
import sys
from contextlib import redirect_stdout
from io import StringIO

from sqlmesh import Context

if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    random.seed(1)
    with redirect_stdout(StringIO()):
        context = Context(paths=sys.argv[1:])
        context.plan("prod", auto_apply=True, no_prompts=True, skip_tests=True, no_diff=True)
        rows = {
            model.name: json.loads(
                context.fetchdf(f"SELECT * FROM {model.name}").to_json(
                    orient="records", date_format="iso"
                )
            )
            for model in context.models.values()
            if not model.kind.is_embedded and not model.kind.is_external
        }
    json.dump(rows, sys.stdout)
