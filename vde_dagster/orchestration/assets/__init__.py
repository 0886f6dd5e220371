"""Models as assets: their bodies, the IO manager, partitions, names, and what a step reports."""
