"""The version, kept apart so that packaging can read it without importing anything."""

__version__ = "0.2.0"
