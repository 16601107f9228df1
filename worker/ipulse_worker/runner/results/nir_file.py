"""NIR graphs as HDF5 files: a chain of nodes with loops, and its metadata."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple, Union

import numpy as np

from ipulse_core.errors import MissingDependency

# Fields of neurons, one value for each.
_CONSTANTS = ("tau", "r", "v_leak", "v_threshold")

Metadata = Dict[str, Union[str, float, int]]
NamedNodes = List[Tuple[str, Any]]


def require_nir() -> None:
    """Raise MissingDependency if the nir package cannot be imported.

    This is called before training, so that a missing package does not cost hours of training.
    """
    try:
        import nir  # noqa: F401  (only whether it loads)
    except ImportError as error:
        raise MissingDependency(
            f"the nir package, which exports the network, cannot be imported ({error}): install "
            "the worker's requirements, or `pip install nir`, into the runner's environment"
        ) from error


class GraphChain:
    """A chain of nodes, with loops at the last one and other edges."""

    def __init__(self, inputs: Tuple[int, ...], outputs: Tuple[int, ...]) -> None:
        import nir

        self._nodes = {"input": nir.Input(input_type={"input": np.array(inputs)})}
        self._edges: List[Tuple[str, str]] = []
        self._last = "input"
        self._output = nir.Output(output_type={"output": np.array(outputs)})

    def append(self, name: str, node: Any) -> None:
        """Add a node behind the last one."""
        self._nodes[name] = node
        self._edges.append((self._last, name))
        self._last = name

    def extend(self, nodes: NamedNodes) -> None:
        """Add nodes behind the last one, one behind the other."""
        for name, node in nodes:
            self.append(name, node)

    def join(self, source: str, nodes: NamedNodes, target: str) -> None:
        """Add another way between two nodes of the chain."""
        for name, node in nodes:
            self._nodes[name] = node
            self._edges.append((source, name))
            source = name
        self._edges.append((source, target))

    def loop(self, name: str, node: Any, to: Optional[str] = None) -> None:
        """Add a loop from the last node through this one, to the last one or to another."""
        self._nodes[name] = node
        self._edges += [(self._last, name), (name, to or self._last)]

    @property
    def last(self) -> str:
        """The name of the last node of the chain."""
        return self._last

    def connect(self, source: str, target: str) -> None:
        """Add an edge between nodes of the chain."""
        self._edges.append((source, target))

    def finished(self) -> Any:
        """Return the NIR graph, with its output."""
        import nir

        self.append("output", self._output)
        return nir.NIRGraph(nodes=self._nodes, edges=self._edges)


def write_graph(path: Path, graph: Any, metadata: Metadata, *, has_one_value: bool = False) -> None:
    """Write a graph and its metadata to `path`, for every release of NIR from 1.0.1.

    Args:
        path: of the file.
        graph: a NIR graph.
        metadata: conventions of the graph.
        has_one_value: whether the constants of a layer's neurons are equal, and written as one.
    """
    import h5py
    import nir

    # HDF5 crashes when a disk becomes full, so it writes to memory.
    memory = BytesIO()
    nir.write(memory, graph)
    # NIR 1.0 writes no metadata. Later releases write it to this group.
    with h5py.File(memory, "a") as file:
        for node in file["node/nodes"].values():
            # Up to 1.0.4 NIR refuses a file with v_reset; later it reads 0 where there is none.
            if "v_reset" in node:
                del node["v_reset"]
            for name in _CONSTANTS if has_one_value else ():
                if name in node:
                    first = np.ravel(node[name])[:1]
                    del node[name]
                    node.create_dataset(name, data=first)
        group = file["node"].require_group("metadata")
        for key, value in metadata.items():
            group.create_dataset(key, data=value)
    path.write_bytes(memory.getvalue())
