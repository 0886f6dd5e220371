"""What the use cases need from the outside, as Protocols. Adapters: ``state/``, ``lakehouse/``."""
