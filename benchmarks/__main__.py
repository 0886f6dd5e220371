"""`./run bench [NAME ...]`: runs the named benchmarks, all without a name."""

from __future__ import annotations

import sys

from benchmarks import imports, planning

BENCHMARKS = {"imports": imports.main, "planning": planning.main}


def main(names: list[str]) -> int:
    """Run benchmarks; 2 for a name that there is none of."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
        return 2
    for name in names or BENCHMARKS:
        BENCHMARKS[name]()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
