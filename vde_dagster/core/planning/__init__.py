"""Plans: what differs, what has to be evaluated, and in which stages."""
