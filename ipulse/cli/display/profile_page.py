"""Profiles as pages of text; docs/reference/profile.md defines their fields."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ipulse.cli.terminal import size_text
from ipulse_core.errors import RemoteError
from ipulse_core.pva.band import band_of
from ipulse_core.pva.difference import Change, ProfileDifference
from ipulse_core.pva.execution import ExecutionReport
from ipulse_core.pva.figures import FIGURES, figures_of, tile_bytes
from ipulse_core.pva.report import Report
from ipulse_core.spec.layer_names import layer_name

from .figures import percent

SCHEMA = "ipulse.profile/1"
_MOST_STEPS = 5  # steps and tiles that are listed
_MOST_CHANGES = 10


def profile_lines(profile: dict[str, Any]) -> Iterator[str]:
    """Return the lines of the page. Raises RemoteError for a profile of another schema."""
    if profile.get("schema") != SCHEMA:
        raise RemoteError(
            f"this profile has the schema {str(profile.get('schema'))[:60]!r}, not {SCHEMA!r}: "
            "`--json` prints it unchanged"
        )
    target = profile["compilation"]["target"]
    yield f"{profile['experiment']['name']} on {target['model']}, {target['threads']} threads"
    yield from _section("phases", profile["execution"]["phases"], lambda phase: phase["seconds"])
    for run in profile["execution"]["runs"]:
        yield from _section(f"run {run['name']}", run["parts"], lambda part: part["seconds"])
        steps = run["steps"]
        yield from _section(
            f"{steps['count']:,} steps", steps["parts"], lambda part: part["seconds"]["total"]
        )
        if run["samples_per_second"] is not None:
            yield f"  {run['samples_per_second']:,.0f} samples per second"
    yield ""
    yield "layers"
    for layer in profile["activity"]["layers"]:
        dropped = layer["overflow"]["training"]
        yield (
            f"  {_title(layer)}  {layer['neurons']:6,} neurons  "
            f"firing rate {percent(layer['firing_rate'])}  "
            f"active-gradient fraction {percent(layer['gradient_share'])}  "
            f"{dropped:,.0f} dropped spikes"
        )
    yield ""
    yield "memory"
    for name, memory in profile["memory"].items():
        yield f"  {name:<18} {size_text(memory['bytes']):>12}"


def _title(layer: dict[str, Any]) -> str:
    """Return the name of a layer; profiles of earlier releases have its number only."""
    key = layer["layer"]
    return str(layer.get("name") or (layer_name(key - 1, key) if isinstance(key, int) else key))


def _section(title: str, parts: list[dict[str, Any]], seconds_of: Any) -> Iterator[str]:
    whole = sum(seconds_of(part) for part in parts)
    yield ""
    yield title
    for part in parts:
        seconds = round(seconds_of(part), 3) + 0.0  # avoids -0.000
        share = seconds / whole if whole else 0.0
        yield f"  {part['name']:<18} {seconds:10.3f} s {percent(share):>7}  {part.get('what', '')}"
        for inner in part.get("parts", []):
            of_whole = inner["seconds"] / whole if whole else 0.0
            name = f"  {inner['name']}"
            yield f"  {name:<18} {inner['seconds']:10.3f} s {percent(of_whole):>7}  {inner['what']}"
    yield f"  {'total':<18} {whole:10.3f} s"


def tile_lines(report: Report) -> Iterator[str]:
    """Return lines about the tiles of a Poplar program: memory, cycles and the costliest steps."""
    target = report.compilation.target
    used = tile_bytes(report)
    order = sorted(range(len(used)), key=lambda tile: -used[tile])
    kind = "emulated" if report.is_emulated else "measured"
    yield ""
    yield f"tiles ({target.numTiles:,} of {size_text(target.bytesPerTile)}, {kind})"
    mean = sum(used) / len(used)
    yield f"  mean {size_text(mean)}; fullest:"
    for tile in order[:_MOST_STEPS]:
        parts = sorted(report.compilation.tiles[tile].memory.category, key=lambda p: -p[1].total)
        largest = ", ".join(f"{name} {size_text(part.total)}" for name, part in parts[:3])
        share = percent(used[tile] / target.bytesPerTile)
        yield f"  tile {tile:<5} {size_text(used[tile]):>12} {share:>8}  {largest}"
    figures = figures_of(report)
    if "cycles" not in figures:
        return
    yield ""
    yield "cycles of tiles"
    if report.is_emulated and figures["cycles"]:
        yield f"  {band_of(figures['cycles']).text}"
    for name in ("cycles", "compute_cycles", "exchange_cycles", "sync_cycles", "host_cycles"):
        share = percent(figures[name] / figures["cycles"]) if figures["cycles"] else ""
        yield f"  {name:<16} {figures[name]:16,.0f} {share:>8}"
    yield f"  {'tile_balance':<16} {percent(figures['tile_balance']):>16}"
    for total in sorted(report.execution.totals, key=lambda t: -t.cycles)[:_MOST_STEPS]:
        yield f"  {total.cycles:16,}  {total.executions:8,} times  {total.program.label}"
    yield from _host_lines(report.execution)


def _host_lines(execution: ExecutionReport) -> Iterator[str]:
    every = execution.host_copies
    if every:
        yield ""
        yield "copies between host and device"
    for copies in every:
        direction = "to host" if copies.is_to_host else "to device"
        spent = f"{copies.cycles:16,} cycles  {copies.executions:8,} times"
        yield f"  {direction:<16} {spent}  {size_text(copies.total_bytes)}"


def difference_lines(difference: ProfileDifference) -> Iterator[str]:
    """Return lines about the difference of two profiles."""
    for change in difference.figures:
        unit = FIGURES[change.name].unit
        line = _change_line(change, digits=0 if unit else 3)
        yield f"{line} (bytes)" if unit == "bytes" else line
    if difference.is_empty:
        yield "The profiles are equal."
    yield from _changes("programs (cycles)", difference.programs)
    yield from _changes("layers (cycles)", difference.layers)
    yield from _changes("tiles (bytes)", difference.tile_memory)
    yield from _changes("tiles (compute cycles)", difference.tile_cycles)


def _changes(title: str, changes: Sequence[Change]) -> Iterator[str]:
    if not changes:
        return
    yield ""
    yield title
    for change in changes[:_MOST_CHANGES]:
        yield f"  {_change_line(change)}"
    if len(changes) > _MOST_CHANGES:
        yield f"  and {len(changes) - _MOST_CHANGES:,} more"


def _change_line(change: Change, digits: int = 0) -> str:
    before, after = (
        "-" if value is None else f"{value:,.{digits}f}" for value in (change.before, change.after)
    )
    if change.before is None or change.after is None:
        relative = "new" if change.before is None else "gone"
    elif not change.amount:
        relative = "="
    else:
        relative = "" if change.ratio is None else f"{change.ratio:+.1%}"
    return f"{before:>16} {after:>16} {relative:>9}  {change.name}"
