"""The ports of the use cases, as Protocols. Adapters: ``state/``, ``lakehouse/``."""
