"""Refuse circles of imports between modules, lazy imports included.

Run with the folder of each package on the path: PYTHONPATH=trainer python tools/check_circles.py
"""

import sys
from graphlib import CycleError, TopologicalSorter

import grimp

PACKAGES = ("verifier_service", "grpo_trainer")


def circle(imports: dict[str, set[str]]) -> list[str]:
    """Modules that import one another in a ring, first and last the same; empty where there is none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def main() -> int:
    graph = grimp.build_graph(*PACKAGES, exclude_type_checking_imports=True)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    found = circle(imports)
    if found:
        print("circle of imports: " + " <- ".join(found), file=sys.stderr)
    print(f"{len(imports)} modules, {'a circle' if found else 'no circle'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
