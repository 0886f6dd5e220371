"""Late data: what reached the sources, what was loaded up to when, and what a session loads."""
