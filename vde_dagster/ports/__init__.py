"""What the use cases need from the outside, as Protocols. Each has an adapter in ``memory/``."""
