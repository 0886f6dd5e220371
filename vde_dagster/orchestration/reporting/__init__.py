"""What Dagster's pages show of an environment: events, checks, and the sensor that looks."""
