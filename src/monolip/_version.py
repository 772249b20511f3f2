"""The version, in a file of its own so that packaging can read it without importing anything else."""

__version__ = "0.1.0.dev0"
