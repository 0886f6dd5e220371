"""Which loaded intervals are stale, since when, and what is evaluated again for it."""
