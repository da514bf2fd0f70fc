"""Group relative policy optimization of language models against a verifier service."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("grpo-trainer")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0.0.0"
