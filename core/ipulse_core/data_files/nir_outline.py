"""Lists the nodes and edges of a NIR file: `python -m ipulse_core.data_files.nir_outline FILE`.

It prints one line of JSON: the outline, or why the file is refused. The process limits its own
memory, processor time and files before it opens the file, because anybody may have written that.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any, Dict, List

from ipulse_core.data_files.errors import DataInvalid, DataUnavailable
from ipulse_core.data_files.hdf5_structure import check_structure
from ipulse_core.sandbox.limited_process import limit_process

MAX_NODES = 1_000
MAX_EDGES = 10_000
MAX_VALUES = 2**24  # numbers of all nodes; those of the others have no statistics
MAX_TEXT = 200  # characters of a name or of a text


def main() -> int:
    """Read a file and print the result."""
    path = Path(sys.argv[1])
    limit_process()
    try:
        result = outline(path)
    except DataUnavailable as error:
        result = {"refusal": error.message.replace(str(path), "the file")}
    except MemoryError:
        result = {"refusal": "reading it takes too much memory"}
    print(json.dumps(result, allow_nan=False))  # noqa: T201 - the result
    return 0


def outline(path: Path) -> Dict[str, Any]:
    """Return the nodes with their parameters, and the edges, of a graph.

    A graph within a graph is a node, followed by its own nodes; their names begin with its name.

    Raises:
        DataInvalid: it is no NIR graph, is damaged, has too many parts, or refers to other files.
    """
    import h5py

    try:
        with h5py.File(str(path), "r") as file:
            check_structure(file, path)
            return _Outline().of(file)
    # h5py raises RuntimeError and KeyError for damaged parts.
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError) as error:
        reason = str(error).strip().split("\n")[0]
        raise DataInvalid(f"{path} cannot be read as a NIR file: {reason}") from error


class _Outline:
    def __init__(self) -> None:
        self._nodes: List[Dict[str, Any]] = []
        self._edges: List[List[str]] = []
        self._values = 0

    def of(self, file: Any) -> Dict[str, Any]:
        root = file["node"]
        if _text(root["type"][()]) != "NIRGraph":
            raise DataInvalid("the file holds a single node; a graph is needed")
        self._add(root, "")
        version = _text(file["version"][()]) if "version" in file else ""
        return {"version": version, "nodes": self._nodes, "edges": self._edges}

    def _add(self, group: Any, prefix: str) -> None:
        for key, part in group["nodes"].items():
            if len(self._nodes) >= MAX_NODES:
                raise DataInvalid(f"there are more than {MAX_NODES:,} nodes")
            kind = _text(part["type"][()])
            is_graph = kind == "NIRGraph"
            fields = [] if is_graph else [name for name in part if name not in ("type", "metadata")]
            parameters = [{"name": _cut(name), **self._described(part[name])} for name in fields]
            name = f"{prefix}{key}"
            self._nodes.append({"name": _cut(name), "type": kind, "parameters": parameters})
            if is_graph:
                self._add(part, f"{name}.")
        edges = group["edges"]
        if edges.size == 0:
            return
        if edges.ndim != 2 or edges.shape[1] != 2 or len(self._edges) + len(edges) > MAX_EDGES:
            raise DataInvalid(f"its edges are not at most {MAX_EDGES:,} pairs of names")
        self._edges += [[_cut(f"{prefix}{_text(end)}") for end in pair] for pair in edges[()]]

    def _described(self, dataset: Any) -> Dict[str, Any]:
        """Return the value of one number or text, else the type, shape and range."""
        import numpy as np

        if not hasattr(dataset, "dtype"):
            return {"shape": [], "type": "group"}
        shape = [int(size) for size in dataset.shape]
        if dataset.dtype.kind not in "biuf":
            value = _text(dataset[()]) if not shape else None
            return {"shape": shape, "type": "text", **({} if value is None else {"value": value})}
        found: Dict[str, Any] = {"shape": shape, "type": str(dataset.dtype)}
        self._values += int(dataset.size)
        if self._values > MAX_VALUES or dataset.size == 0:
            return found
        values = np.asarray(dataset[()], dtype=np.float64)
        numbers = {"low": values.min(), "mean": values.mean(), "high": values.max()}
        if dataset.size == 1:
            numbers = {"value": values.reshape(-1)[0]}
        for name, number in numbers.items():
            found[name] = float(number) if math.isfinite(number) else str(float(number))
        return found


def _text(value: Any) -> str:
    return _cut(value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value))


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…"


if __name__ == "__main__":
    sys.exit(main())
