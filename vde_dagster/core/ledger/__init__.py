"""What versions hold: entries, digests, traces, late data and units of work."""
