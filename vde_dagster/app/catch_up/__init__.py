"""Late data: what reached the sources, and the sessions that load it."""
