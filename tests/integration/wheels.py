"""Modules that stand in for what a trainer has beside the one that is tested."""

import sys
from types import ModuleType
from typing import Any


def stub(name: str, **members: Any) -> None:
    """A module of this name, and the packages that it is in, with these members."""
    parent = ""
    for part in name.split("."):
        path = f"{parent}.{part}" if parent else part
        if path not in sys.modules:
            made = ModuleType(path)
            made.__path__ = []
            sys.modules[path] = made
            if parent:
                setattr(sys.modules[parent], part, made)
        parent = path
    sys.modules[name].__dict__.update(members)
