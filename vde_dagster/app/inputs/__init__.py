"""What models read now: how far it is complete, and what of it has changed since."""
