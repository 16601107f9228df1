"""A profile.json as a page of text; docs/reference/profile.md defines its fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ipulse_core.errors import RemoteError

from .figures import percent
from .terminal import size_text

SCHEMA = "ipulse.profile/1"


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
            f"  {layer['layer']}  {layer['neurons']:6,} neurons  "
            f"firing rate {percent(layer['firing_rate'])}  "
            f"active-gradient fraction {percent(layer['gradient_share'])}  "
            f"{dropped:,.0f} dropped spikes"
        )
    yield ""
    yield "memory"
    for name, memory in profile["memory"].items():
        yield f"  {name:<18} {size_text(memory['bytes']):>12}"


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
