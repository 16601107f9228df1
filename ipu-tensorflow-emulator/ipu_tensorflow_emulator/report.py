"""The report of a process: custom ops on tiles, TensorFlow's ops on the host, each for itself.

There is no sum of both, no time of a step and no utilisation: what the host executes has no cycles.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Dict, List, Sequence

from ipu_tensorflow_emulator import outfeed_metrics, settings
from ipu_tensorflow_emulator.activation import say
from ipu_tensorflow_emulator.process import STATE
from ipulse_core.pva.band import band_of
from poplar_emulator.user_op import OpUsage

_TYPES = 12  # of ops that a line of text shows
_TEXTS = 3  # columns of the table


def document() -> Dict[str, Any]:
    """Return the report as JSON types."""
    return {
        "emulated": True,
        "custom_ops": [_op(device, usage) for device, usage in _usages()],
        "host_programs": [
            {
                "name": program.name,
                "runs": program.runs,
                "ops_by_type": dict(program.host_ops.most_common()),
            }
            for program in STATE.programs
        ],
        "without_effect": list(STATE.without_effect),
    }


def text() -> str:
    """Return the report for people."""
    found = document()
    lines = ["", "Custom ops on emulated tiles (cycles are emulated, not measured on an IPU)"]
    rows = [
        [
            op["op_name"],
            op["library"],
            "x".join(map(str, op["inputs"][0][1])) if op["inputs"] else "",
            f"{op['calls']['forward']:,}",
            f"{op['calls']['backward']:,}",
            f"{op['bytes_in']:,}",
            f"{op['bytes_out']:,}",
            f"{op['cycles']:,}",
            f"{op['tiles_used']:,} of {op['tiles']:,}",
            f"{op['bytes_of_fullest_tile']:,} of {op['bytes_per_tile']:,}",
        ]
        for op in found["custom_ops"]
    ]
    head = ["op", "library", "first input", "forward", "backward", "bytes in", "bytes out"]
    head += ["cycles", "tiles", "bytes on fullest tile"]
    lines += _table(head, rows) if rows else ["  none"]
    cycles = sum(op["cycles"] for op in found["custom_ops"])
    lines += [f"  cycles of all: {band_of(cycles).text}"] if cycles else []
    lines += ["", "TensorFlow's ops, executed on the host: they have no cycles and no tiles here"]
    for program in found["host_programs"]:
        number = program["runs"]
        runs = "" if number is None else f", {number} {'run' if number == 1 else 'runs'}"
        ops = list(program["ops_by_type"].items())
        counts = ", ".join(f"{name} {count}" for name, count in ops[:_TYPES])
        more = f", and {len(ops) - _TYPES} other types" if len(ops) > _TYPES else ""
        lines.append(f"  {program['name']}{runs}: {counts or 'none'}{more}")
    if not found["host_programs"]:
        lines.append("  no program was run")
    if found["without_effect"]:
        lines += ["", "Accepted without effect"]
        lines += [f"  {name}" for name in found["without_effect"]]
    return "\n".join(lines) + "\n"


def write(folder: Path) -> None:
    """Write report.json, report.txt and the profile of each custom op to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.json").write_text(json.dumps(document(), indent=1), "utf-8")
    (folder / "report.txt").write_text(text(), "utf-8")
    for number, (_, usage) in enumerate(_usages(), 1):
        path = folder / f"custom_op_{number}_{usage.op_name}.json"
        path.write_text(json.dumps(usage.profile), "utf-8")


def at_exit() -> None:
    """Print the report to standard error, and write it where a folder is set."""
    absent = outfeed_metrics.missing()
    if absent:
        say(
            f"no outfeed queue returned {', '.join(absent)}: enqueue a dict with these keys, and "
            "dequeue it"
        )
    if not settings.is_quiet():
        if STATE.programs or STATE.without_effect or _usages():
            sys.stderr.write(text())
        else:
            say("no program was run on the emulated IPUs")
    if settings.report_folder():
        write(Path(settings.report_folder()))


def _usages() -> List[Any]:
    return [(device, usage) for device in STATE.devices.values() for usage in device.usage()]


def _op(device: Any, usage: OpUsage) -> Dict[str, Any]:
    compilation = usage.profile["compilation"]
    memory = [tile["memory"]["total"]["includingGaps"] for tile in compilation["tiles"]]
    execution = usage.profile.get("execution", {})
    # Tiles that have a part in the op have more than the stacks of their workers.
    used = [
        tile
        for tile in compilation["tiles"]
        if tile["memory"]["category"]["variable"]["total"]
        or tile["memory"]["category"]["vertexInstanceState"]["total"]
    ]
    return {
        "op_name": usage.op_name,
        "library": Path(usage.library).name,
        "inputs": [[dtype, list(shape)] for dtype, shape in usage.inputs],
        "outputs": [[dtype, list(shape)] for dtype, shape in usage.outputs],
        "calls": usage.calls,
        "bytes_in": usage.bytes_in,
        "bytes_out": usage.bytes_out,
        "cycles": int(execution.get("totalCycles", {}).get("total", 0)),
        "compute_sets": len(compilation["computeSets"]),
        "ipus": device.ipus,
        "tiles": device.ipus * device.tiles_per_ipu,
        "tiles_used": len(used),
        "bytes_of_fullest_tile": max(memory, default=0),
        "bytes_per_tile": compilation["target"]["bytesPerTile"],
    }


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> List[str]:
    widths = [max(len(row[at]) for row in [head, *rows]) for at in range(len(head))]
    lines = []
    for row in [head, *rows]:
        cells = [
            cell.ljust(width) if at < _TEXTS else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths))
        ]
        lines.append("  " + "  ".join(cells).rstrip())
    return lines
