"""One profile of several programs on the same tiles, which run one after another.

A network with custom ops is several programs: layers between two ops, and each op. Their memory and
cycles are added, as one program with all of them would need that shares no memory between them.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Sequence

Rename = Callable[[str], str]
_LAYER = re.compile(r"(^|/)(layer\d+|readout)(?=/|$)")
_GRADIENT = re.compile(r"^\w+_grad(?=/|$)")  # the debug prefix of a gradient op
_FORWARD = re.compile(r"^Build(?:/|$)")
_ALL = re.compile(r"(?:^|/)all_layers(?:/|$)")
# Errors of `merged` for a profile that an op has forged.
FORGED = (KeyError, TypeError, ValueError, AttributeError, RecursionError, OverflowError)
MOST_VARIABLES, MOST_ALWAYS_LIVE = 20, 100


class ProfiledPart(NamedTuple):
    """The profile of one program, and what its names become."""

    document: Mapping[str, Any]
    rename: Rename


def layers_renamed(names: Mapping[str, str]) -> Rename:
    """Return a function for a program of layers.

    names: those of layers in the network by those in the program, such as layer1: layer3.
    """

    def rename(name: str) -> str:
        name = _GRADIENT.sub("backward", name)
        if not _LAYER.search(name) and not _ALL.search(name) and len(names) == 1:
            (only,) = names.values()
            return _below(only, name)
        return _LAYER.sub(lambda found: found[1] + names.get(found[2], found[2]), name)

    return rename


def op_renamed(layer: str, op: str) -> Rename:
    """Return a function for the program of a custom op."""

    def rename(name: str) -> str:
        return _below(f"{layer}/{op}", _FORWARD.sub("", _GRADIENT.sub("backward", name)))

    return rename


def _below(scope: str, name: str) -> str:
    """Put a name below the scope of a layer; what runs backward is recognised by its beginning."""
    head, _, rest = name.partition("/")
    if head == "backward":
        return f"backward/{scope}/{rest}" if rest else f"backward/{scope}"
    return f"{scope}/{name}" if name else scope


def merged(parts: Sequence[ProfiledPart]) -> Dict[str, Any]:
    """Return the profile of all programs. Raises what is in FORGED for one that is no profile."""
    compiled = [_renamed_compilation(part) for part in parts]
    ids, sets = _offsets(compiled)
    target = compiled[0]["target"]
    if any(len(each["tiles"]) != target["numTiles"] for each in compiled):
        raise ValueError("the programs are on other tiles")
    document: Dict[str, Any] = {
        "emulated": True,
        "compilation": {
            "target": target,
            "graph": _sum_of([each["graph"] for each in compiled]),
            "tiles": [_sum_of(tiles) for tiles in zip(*(each["tiles"] for each in compiled))],
            "computeSets": [one for each in compiled for one in each["computeSets"]],
            "programs": [
                _moved(program, first, of_sets)
                for each, first, of_sets in zip(compiled, ids, sets)
                for program in each["programs"]
            ],
            "alwaysLiveVariables": _largest(
                [each["alwaysLiveVariables"] for each in compiled], MOST_ALWAYS_LIVE
            ),
            "largestVariables": _largest(
                [each["largestVariables"] for each in compiled], MOST_VARIABLES
            ),
            "livenessProgramSteps": [
                {**step, "program": step["program"] + first}
                for each, first in zip(compiled, ids)
                for step in each["livenessProgramSteps"]
            ],
        },
    }
    document["compilation"]["fullestTile"] = _fullest(document["compilation"]["tiles"], compiled)
    ran = [
        _moved_execution(part, first)
        for part, first in zip(parts, ids)
        if part.document.get("execution")
    ]
    if ran:
        document["execution"] = _execution(ran)
    return document


def _renamed_compilation(part: ProfiledPart) -> Dict[str, Any]:
    made = dict(part.document["compilation"])
    for field in ("computeSets", "programs", "alwaysLiveVariables", "largestVariables"):
        made[field] = [{**one, "name": part.rename(one["name"])} for one in made[field]]
    made["livenessProgramSteps"] = [
        {**step, "notAlwaysLiveMemory": _renamed_variables(step["notAlwaysLiveMemory"], part)}
        for step in made["livenessProgramSteps"]
    ]
    made["fullestTile"] = _renamed_variables(made["fullestTile"], part)
    return made


def _renamed_variables(holder: Mapping[str, Any], part: ProfiledPart) -> Dict[str, Any]:
    variables = [{**one, "name": part.rename(one["name"])} for one in holder["variables"]]
    return {**holder, "variables": variables}


def _offsets(compiled: Sequence[Mapping[str, Any]]) -> Any:
    """Return the first id and the place of the first compute set of each program."""
    ids, sets = [0], [0]
    for each in compiled:
        ids.append(ids[-1] + 1 + max(program["_id"] for program in each["programs"]))
        sets.append(sets[-1] + len(each["computeSets"]))
    return ids, sets


def _moved(program: Mapping[str, Any], first: int, of_sets: int) -> Dict[str, Any]:
    made = {**program, "_id": program["_id"] + first}
    made["children"] = [child + first for child in program["children"]]
    if "computeset" in program:
        made["computeset"] = program["computeset"] + of_sets
    return made


def _moved_execution(part: ProfiledPart, first: int) -> Dict[str, Any]:
    def moved(steps: Sequence[Mapping[str, Any]]) -> List[Dict[str, Any]]:
        return [{**step, "program": step["program"] + first} for step in steps]

    execution = part.document["execution"]
    totals = moved(execution["totals"])
    for total in totals:
        if "computeCyclesByScope" in total:
            scopes: Dict[str, float] = {}
            for scope, cycles in total["computeCyclesByScope"].items():
                name = part.rename(scope)
                scopes[name] = scopes.get(name, 0) + cycles
            total["computeCyclesByScope"] = scopes
    return {
        **execution,
        "runs": [
            {**run, "name": part.rename(run["name"]), "steps": moved(run["steps"])}
            for run in execution["runs"]
        ],
        "blocks": moved(execution.get("blocks", [])),
        "totals": totals,
    }


def _execution(ran: Sequence[Mapping[str, Any]]) -> Dict[str, Any]:
    return {
        "runs": [run for each in ran for run in each["runs"]],
        "blocks": [block for each in ran for block in each["blocks"]],
        "totals": [total for each in ran for total in each["totals"]],
        "computeCyclesByTile": [
            sum(cycles) for cycles in zip(*(each["computeCyclesByTile"] for each in ran))
        ],
        "totalCycles": _sum_of([each["totalCycles"] for each in ran]),
    }


def _sum_of(documents: Sequence[Mapping[str, Any]]) -> Dict[str, Any]:
    """Add numbers in objects of the same form."""
    first = documents[0]
    return {
        name: _sum_of([each[name] for each in documents])
        if isinstance(value, dict)
        else sum(each[name] for each in documents)
        for name, value in first.items()
    }


def _largest(lists: Sequence[Sequence[Mapping[str, Any]]], most: int) -> List[Mapping[str, Any]]:
    variables = [variable for listed in lists for variable in listed]
    return sorted(variables, key=lambda variable: -variable["size"])[:most]


def _fullest(
    tiles: Sequence[Mapping[str, Any]], compiled: Sequence[Mapping[str, Any]]
) -> Dict[str, Any]:
    """Return the fullest tile, with what is known of its variables."""
    sizes = [tile["memory"]["total"]["excludingGaps"] for tile in tiles]
    at = sizes.index(max(sizes))
    known = [each["fullestTile"] for each in compiled]
    listed = [each["variables"] for each in known if each["tile"] == at]
    return {"tile": at, "variables": _largest(listed, MOST_VARIABLES)}
