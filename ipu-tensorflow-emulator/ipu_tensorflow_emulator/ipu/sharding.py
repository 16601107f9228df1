"""`ipu.sharding`: operations on the IPUs of a replica; without effect."""

from __future__ import annotations

from typing import Any, Iterable, List


def has_attr(o: Any, attr_name: str) -> bool:
    """Return whether an operation has an attribute."""
    try:
        o.get_attr(attr_name)
    except ValueError:
        return False
    return True


def dependencies(roots: Iterable[Any]) -> List[Any]:
    """Return the operations that others need, and these."""
    found, waiting = [], list(roots)
    while waiting:
        operation = waiting.pop()
        if operation not in found:
            found.append(operation)
            waiting += [tensor.op for tensor in operation.inputs]
    return found


def propagate_sharding(graph: Any) -> None:
    """Leave a graph as it is."""
