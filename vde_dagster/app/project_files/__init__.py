"""Writing files of a user's project."""
