"""The properties of MODEL blocks and of the headers of Python models."""
