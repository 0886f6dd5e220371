"""What is behind what it was computed from, since when, and what follows."""
