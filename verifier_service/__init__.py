"""Verifiable rewards for training reasoning models: the judge, its service and its client."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("verifier-service")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0.0.0"
