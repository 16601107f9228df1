"""Reads NIR files from anybody: HDF5 with limits, of every release of the nir package."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple, Union

import numpy as np

from ipulse_core.data_files.hdf5_structure import has_known_filters
from ipulse_core.nir.errors import NirInvalid, at_node

MAX_BYTES = 2**31  # of the file
MAX_VALUES = 2**27  # numbers of all nodes
MAX_NODES = 1_000
MAX_EDGES = 10_000
MAX_DEPTH = 8  # of graphs in graphs

Value = Union[str, np.ndarray]


@dataclass(frozen=True)
class NirNode:
    """One node: its type and fields; numbers are arrays as they are in the file."""

    name: str
    type: str
    fields: Dict[str, Value]


@dataclass
class Graph:
    """Nodes by name and edges; graphs in the graph are part of it."""

    nodes: Dict[str, NirNode] = field(default_factory=dict)
    edges: List[Tuple[str, str]] = field(default_factory=list)
    metadata: Dict[str, Value] = field(default_factory=dict)
    version: str = ""  # of the nir package that wrote the file


def read_graph(path: Path) -> Graph:
    """Read a file.

    Raises:
        NirInvalid: it is no NIR graph, is damaged, exceeds a limit, refers to other files, or has
            numbers that are not finite.
    """
    import h5py

    size = path.stat().st_size
    if size > MAX_BYTES:
        raise NirInvalid(f"it has {size:,} bytes; at most {MAX_BYTES:,} are read")
    try:
        with h5py.File(str(path), "r") as file:
            return _Reader().graph(file)
    # h5py raises RuntimeError and KeyError for damaged parts.
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, UnicodeError) as error:
        reason = str(error).strip().split("\n")[0].replace(str(path), "the file")
        raise NirInvalid(f"it cannot be read as a NIR file: {reason}") from error


class _Reader:
    def __init__(self) -> None:
        self._values = 0
        self._nodes = 0

    def graph(self, file: Any) -> Graph:
        node = self._group(file, "node", "the file")
        if self._text(node, "type", "the file") != "NIRGraph":
            raise NirInvalid("it holds a single node; a graph is needed")
        version = self._value(file, "version", "the file") if "version" in file else ""
        graph = Graph(version=version if isinstance(version, str) else "")
        entries, exits = self._inline(graph, node, "", 0)
        for name in entries:
            graph.nodes[name] = NirNode(name, "Input", graph.nodes[name].fields)
        for name in exits:
            graph.nodes[name] = NirNode(name, "Output", graph.nodes[name].fields)
        metadata = self._group(node, "metadata", "the file") if "metadata" in node else {}
        for key in metadata:
            graph.metadata[key] = self._value(metadata, key, "metadata")
        return graph

    def _inline(
        self, graph: Graph, group: Any, prefix: str, depth: int
    ) -> Tuple[List[str], List[str]]:
        """Add the nodes and edges of a group; return its inputs and outputs, as identities."""
        here = prefix.rstrip(".") or "the graph"
        if depth > MAX_DEPTH:
            raise NirInvalid(f"graphs are nested more than {MAX_DEPTH} deep at {here[:100]!a}")
        # For each name the nodes at which edges end and begin.
        ends: Dict[str, Tuple[List[str], List[str]]] = {}
        entries: List[str] = []
        exits: List[str] = []
        nodes = self._group(group, "nodes", here)
        for key in nodes:
            self._nodes += 1
            if self._nodes > MAX_NODES:
                raise NirInvalid(f"there are more than {MAX_NODES:,} nodes")
            name = f"{prefix}{key}"
            part = self._group(nodes, key, here)
            kind = self._text(part, "type", name)
            if kind == "NIRGraph":
                ends[key] = self._inline(graph, part, f"{name}.", depth + 1)
                continue
            if kind in ("Input", "Output"):
                (entries if kind == "Input" else exits).append(name)
                kind = "Identity"
            graph.nodes[name] = NirNode(name, kind, dict(self._fields(part, name)))
            ends[key] = ([name], [name])
        for source, target in self._edges(group, here):
            for end in (source, target):
                if end not in ends:
                    raise NirInvalid(f"an edge names {end[:100]!a}, which is no node of {here}")
            graph.edges += [(a, b) for a in ends[source][1] for b in ends[target][0]]
            if len(graph.edges) > MAX_EDGES:
                raise NirInvalid(f"there are more than {MAX_EDGES:,} edges")
        return entries, exits

    def _fields(self, group: Any, name: str) -> Iterator[Tuple[str, Value]]:
        for key in group:
            if key not in ("type", "metadata"):
                yield key, self._value(group, key, name)

    def _edges(self, group: Any, here: str) -> List[Tuple[str, str]]:
        dataset = self._dataset(group, "edges", here)
        if dataset.size == 0:
            return []
        if dataset.ndim != 2 or dataset.shape[1] != 2 or len(dataset) > MAX_EDGES:
            raise NirInvalid(f"the edges of {here} are not at most {MAX_EDGES:,} pairs of names")
        pairs = [(_decoded(a), _decoded(b)) for a, b in dataset[()]]
        return list(dict.fromkeys(pairs))

    def _group(self, group: Any, key: str, here: str) -> Any:
        import h5py

        found = self._member(group, key, here)
        if not isinstance(found, h5py.Group):
            raise NirInvalid(f"{here}: {key[:100]!a} is not a group of HDF5")
        return found

    def _dataset(self, group: Any, key: str, here: str) -> Any:
        import h5py

        found = self._member(group, key, here)
        if not isinstance(found, h5py.Dataset):
            raise NirInvalid(f"{here}: {key[:100]!a} is not a dataset of HDF5")
        if found.external or found.is_virtual:
            raise NirInvalid(f"{here}: {key[:100]!a} is stored in another file")
        if not has_known_filters(found):
            detail = "is packed in a way that is not read; use gzip, or nothing"
            raise NirInvalid(f"{here}: {key[:100]!a} {detail}")
        return found

    def _member(self, group: Any, key: str, here: str) -> Any:
        import h5py

        link = group.get(key, getlink=True)
        if link is None:
            raise NirInvalid(f"{here} has no {key!a}")
        if not isinstance(link, h5py.HardLink):
            raise NirInvalid(f"{here}: {key[:100]!a} is a link, and links are not followed")
        return group[key]

    def _text(self, group: Any, key: str, here: str) -> str:
        value = self._value(group, key, here)
        if not isinstance(value, str):
            raise NirInvalid(f"{here}: {key!a} is not text")
        return value

    def _value(self, group: Any, key: str, here: str) -> Value:
        import h5py

        dataset = self._dataset(group, key, here)
        if h5py.check_string_dtype(dataset.dtype) is not None and dataset.shape == ():
            return _decoded(dataset[()])
        if dataset.dtype.kind not in "biuf":
            raise at_node(here, f"{key} is neither a number nor text: {dataset.dtype}")
        self._values += int(dataset.size)
        if self._values > MAX_VALUES:
            raise at_node(here, f"with {key} there are more than {MAX_VALUES:,} numbers")
        value = np.asarray(dataset[()])
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            raise at_node(here, f"{key} has values that are not finite")
        return value


def _decoded(value: Any) -> str:
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)
