"""A NIR graph as a chain of layers: neurons, the weights before them, and their loops."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, Optional, Set, Tuple

from ipulse_core.nir.errors import NirInvalid, at_node
from ipulse_core.nir.hdf5_file import Graph, NirNode
from ipulse_core.nir.linear_nodes import LINEAR
from ipulse_core.nir.neurons import NEURONS

MAX_PATHS = 1_000
_INTEGRATORS = ("LI", "I")


@dataclass(frozen=True)
class NodePath:
    """A way from neurons, or the input, to other neurons or the output."""

    source: str
    through: Tuple[NirNode, ...]
    target: str


@dataclass
class Unit:
    """The neurons of one layer: up to three nodes, a synapse, a membrane and a threshold."""

    nodes: List[NirNode]
    loops: List[NodePath] = field(default_factory=list)  # from its spikes to itself
    inputs: List[NodePath] = field(default_factory=list)  # from the layer before
    residual: Dict[str, List[NodePath]] = field(default_factory=dict)  # by earlier layer, or input

    @property
    def name(self) -> str:
        """The name of its last node, which emits."""
        return self.nodes[-1].name


def chain_of(graph: Graph) -> Tuple[str, List[Unit], List[NodePath]]:
    """Return the input's name, the layers from input to output, and the paths to the output.

    Raises:
        NirInvalid: the graph is no chain of layers with loops of single layers and residual
            additions.
    """
    for node in graph.nodes.values():
        if node.type not in LINEAR + NEURONS:
            known = ", ".join(sorted({*LINEAR, *NEURONS} - {"Identity"}))
            raise at_node(node.name, f"its type {node.type[:40]!a} is unknown; known are {known}")
    start, end = (_only(graph, kind) for kind in ("Input", "Output"))
    paths = _paths(graph, start, end)
    units = _units(graph, paths)
    by_node = {node.name: unit for unit in units for node in unit.nodes}
    outgoing: Dict[str, List[NodePath]] = {}
    for path in paths:
        if path.source in by_node and path.target in by_node:
            unit = by_node[path.source]
            if unit is by_node[path.target]:
                if path.source == unit.name:
                    unit.loops.append(path)
                continue
            if path.source != unit.name:
                raise at_node(
                    path.source,
                    "its values go on to other neurons than its own: only spikes may",
                )
        outgoing.setdefault(path.source, []).append(path)
    chain: List[Unit] = []
    here = start
    while True:
        onward = outgoing.get(here, [])
        targets = list(dict.fromkeys(_name(by_node, path) for path in onward))
        if not targets:
            raise at_node(here, "it leads nowhere: every node must be between input and output")
        for unit in chain:
            if unit.name in targets:
                raise at_node(
                    here,
                    f"a loop leads back to {unit.name}: only a layer's own loops can be scheduled",
                )
        if targets == [end]:
            break
        following = _next(outgoing, by_node, {start, *(u.name for u in chain)}, targets)
        if following is None or (end in targets):
            names = ", ".join(targets)
            raise at_node(
                here,
                f"it leads to {names}: layers must be a chain, in which a layer may also receive "
                "spikes of earlier ones and of the input",
            )
        unit = next(u for u in units if u.name == following)
        unit.inputs = [path for path in onward if _name(by_node, path) == following]
        for source, paths_of in outgoing.items():
            found = [path for path in paths_of if _name(by_node, path) == following]
            if found and source != here:
                unit.residual[source] = found
        for path in unit.inputs:
            if path.target != unit.nodes[0].name:
                raise at_node(path.target, "spikes arrive behind its synapse")
        chain.append(unit)
        here = unit.name
    apart = [unit.name for unit in units if unit not in chain]
    if apart:
        raise at_node(apart[0], "it is not between input and output")
    for unit in chain:
        _check_residuals(unit)
    return start, chain, onward


def _next(
    outgoing: Dict[str, List[NodePath]],
    by_node: Dict[str, Unit],
    visited: Set[str],
    targets: List[str],
) -> Optional[str]:
    """Return the target that waits for no other layer; None if there are several or none."""
    if len(targets) == 1:
        return targets[0]
    waiting = {
        _name(by_node, path)
        for source, paths in outgoing.items()
        if source not in visited
        for path in paths
    }
    ready = [target for target in targets if target not in waiting]
    return ready[0] if len(ready) == 1 else None


def _check_residuals(unit: Unit) -> None:
    """Raise NirInvalid unless spikes of earlier layers arrive where those of the last one do."""
    for paths in unit.residual.values():
        if any(path.target != unit.nodes[0].name for path in paths):
            raise at_node(unit.name, "spikes arrive behind its synapse")


def is_addition(unit: Unit, source: str) -> bool:
    """Return whether spikes of an earlier layer have the weights of the layer before."""
    return _weights(unit.residual[source]) == _weights(unit.inputs)


def _weights(paths: List[NodePath]) -> List[Tuple[str, ...]]:
    """Return the names of the nodes that change values, by path."""
    unchanging = ("Identity", "Flatten", "Delay")
    return sorted(
        tuple(node.name for node in path.through if node.type not in unchanging) for path in paths
    )


def _name(by_node: Dict[str, Unit], path: NodePath) -> str:
    return by_node[path.target].name if path.target in by_node else path.target


def _only(graph: Graph, kind: str) -> str:
    names = [node.name for node in graph.nodes.values() if node.type == kind]
    if len(names) != 1:
        raise NirInvalid(f"the graph has {len(names)} {kind} nodes; one is needed")
    return names[0]


def _paths(graph: Graph, start: str, end: str) -> List[NodePath]:
    """Return the paths between neurons."""
    following: Dict[str, List[str]] = {name: [] for name in graph.nodes}
    for here, there in graph.edges:
        following[here].append(there)
    found: List[NodePath] = []
    sources = [start, *(n.name for n in graph.nodes.values() if n.type in NEURONS)]
    for source in sources:
        # Names so far, and the nodes of the path.
        waiting: List[Tuple[str, Tuple[NirNode, ...]]] = [(name, ()) for name in following[source]]
        while waiting:
            name, through = waiting.pop()
            node = graph.nodes[name]
            if node.type in NEURONS or name == end:
                found.append(NodePath(source, through, name))
                if len(found) > MAX_PATHS:
                    raise NirInvalid(f"there are more than {MAX_PATHS:,} paths between neurons")
                continue
            if node in through:
                loop = " -> ".join(n.name[:40] for n in (*through[through.index(node) :], node))
                raise at_node(name, f"the loop {loop} has no neurons and cannot be scheduled")
            waiting += [(after, (*through, node)) for after in following[name]]
    used = {source for path in found for source in (path.source, path.target)}
    used |= {node.name for path in found for node in path.through}
    for name, node in graph.nodes.items():
        if name not in used and node.type != "Identity":
            raise at_node(name, "it is not between input and output")
    return found


def _units(graph: Graph, paths: List[NodePath]) -> List[Unit]:
    """Join the nodes of each layer: a synapse LI, a membrane LI, a Threshold."""
    unit_of = {n.name: Unit([n]) for n in graph.nodes.values() if n.type in NEURONS}
    changed = True
    while changed:
        changed = False
        for name, unit in list(unit_of.items()):
            if unit.nodes[-1].type not in _INTEGRATORS or unit.name != name:
                continue
            behind = _behind(unit_of, paths, name)
            if behind is None:
                continue
            joined = Unit([*unit.nodes, *behind.nodes])
            for node in joined.nodes:
                unit_of[node.name] = joined
            changed = True
            break
    units = list({id(unit): unit for unit in unit_of.values()}.values())
    for unit in units:
        kinds = [node.type for node in unit.nodes]
        allowed = len(kinds) == 1 or (
            len(kinds) == 2 or (len(kinds) == 3 and kinds[2] == "Threshold")
        )
        if not allowed or kinds[1:] == ["CubaLIF"] or kinds[1:] == ["CubaLI"]:
            raise at_node(
                unit.name, f"{' -> '.join(kinds)} has more states than a synapse and a membrane"
            )
    return units


def _behind(unit_of: Dict[str, Unit], paths: List[NodePath], name: str) -> Optional[Unit]:
    """Return the unit that an integrator is a part of: one that has its values alone."""
    onward = [path for path in paths if path.source == name]
    if len(onward) != 1 or onward[0].target not in unit_of:
        return None
    [path] = onward
    unit = unit_of[path.target]
    if path.target != unit.nodes[0].name or name in {node.name for node in unit.nodes}:
        return None
    if any(node.type not in ("Identity", "Flatten") for node in path.through):
        return None
    return unit
