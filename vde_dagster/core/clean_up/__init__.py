"""What nothing refers to any more, and what becomes of it when (rule R12)."""
