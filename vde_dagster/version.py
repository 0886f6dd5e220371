"""The version of this package, read by the build."""

__version__ = "0.1.0"
