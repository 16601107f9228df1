"""data push, list, show and delete: data sets of users."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ipulse.cli.display.raster import raster
from ipulse.cli.display.uploading import upload_progress
from ipulse.cli.exits import Exit
from ipulse.cli.options import Address, AsJSON, FollowOutside, Wide, Yes, addressed
from ipulse.cli.tables import show_list
from ipulse.cli.terminal import (
    confirm,
    emit,
    minute_text,
    say,
    say_folder,
    show,
    show_done,
    show_facts,
    size_text,
)
from ipulse.client import Connection, DatasetVersion
from ipulse.client.datasets.packing import name_of, packed
from ipulse_core.errors import InvalidInput, Problem

LABELS = 20  # that `data show` lists

Reference = Annotated[
    str, typer.Argument(metavar="NAME[@VERSION]", help="Data set, and one of its versions.")
]


@addressed
def push(
    at: Address,
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="npz, HDF5 or CSV file, archive, or folder.")
    ],
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Data set. [default: the file's name]")
    ] = None,
    follow_outside: FollowOutside = False,
    as_json: AsJSON = False,
) -> Exit:
    """Upload a data set, or the next version of one.

    The service checks the content before jobs may use it. Run the command again after a cut: it
    continues where it was, and bytes that the service has are not sent again. The folder of a
    published data set is packed first. Symbolic links in it are followed; those that leave it are
    refused without --follow-outside, but for the layouts of a Hugging Face cache, DataLad and
    git-annex.
    """
    name = name_of(path) if name is None else name
    with packed(path, follow_outside) as data, at.connect() as connection:
        if data.folder:
            say_folder(data.folder)
        with upload_progress() as on_progress:
            version = connection.push_dataset(data.file, name, on_progress, check=False)
    if as_json:
        emit(version.json)
    elif version.state == "ready":
        show(f"{version.reference}  {_short(version)}")
        for warning in version.warnings:
            say(f"Warning: {warning}.", style="yellow")
        say(f"Use it in a spec: data: {{kind: {version.kind}, dataset: {version.reference}}}")
    else:
        say(f"{version.reference} is {version.state}: {version.refusal or ''}", style="red")
    return Exit.OK if version.state == "ready" else Exit.INVALID


@addressed
def list_datasets(at: Address, wide: Wide = False, as_json: AsJSON = False) -> Exit:
    """List the data sets with their latest versions."""
    with at.connect() as connection:
        found = connection.datasets()
    rows = [
        (
            version.reference,
            version.state,
            version.kind or "",
            _count(version, "samples"),
            _count(version, "channels"),
            _count(version, "classes"),
            size_text(version.size),
            minute_text(version.created_at),
        )
        for version in found
    ]
    headers = ["NAME", "STATE", "KIND", "SAMPLES", "CHANNELS", "CLASSES", "SIZE", "CREATED"]
    show_list("datasets", [version.json for version in found], headers, rows, as_json, wide)
    return Exit.OK


@addressed
def show_dataset(
    at: Address,
    reference: Reference,
    sample: Annotated[
        int | None, typer.Option(metavar="K", min=0, help="Sample to draw. [default: the first]")
    ] = None,
    as_json: AsJSON = False,
) -> Exit:
    """Show the facts of a version, and one of its samples as a small raster."""
    with at.connect() as connection:
        version = connection.dataset(reference)
        drawn = _sample(connection, version, sample)
    if as_json:
        emit({**version.json, "sample": drawn})
        return Exit.OK
    _show_version(version)
    if drawn is not None:
        _draw(drawn, version)
    return Exit.OK


@addressed
def delete_dataset(
    at: Address,
    reference: Reference,
    yes: Yes = False,
    as_json: AsJSON = False,
) -> Exit:
    """Delete a version, or a data set with all its versions.

    A version that a job needs which has not ended is kept, and the job is named.
    """
    with at.connect() as connection:
        is_one = "@" in reference
        versions = (
            [connection.dataset(reference)] if is_one else connection.dataset_versions(reference)
        )
        confirm("delete", _listed(versions), yes)
        connection.delete_dataset(reference)
    show_done("deleted", reference, as_json)
    return Exit.OK


def _listed(versions: Sequence[DatasetVersion]) -> str:
    references = ", ".join(version.reference for version in versions)
    return f"{references} ({size_text(sum(version.size for version in versions))})"


def _sample(
    connection: Connection, version: DatasetVersion, sample: int | None
) -> dict[str, Any] | None:
    if not version.previews:
        return None
    if sample is None:
        sample = version.previews[0]
    if sample not in version.previews:
        some = ", ".join(map(str, version.previews[:LABELS]))
        detail = f"must be one of the samples that the service keeps to look at: {some}"
        raise InvalidInput([Problem("/sample", "not_a_choice", detail)], detail)
    return connection.dataset_sample(version.reference, sample)


def _show_version(version: DatasetVersion) -> None:
    facts = version.facts or {}
    per_sample = facts.get("events_per_sample") or {}
    test = facts.get("test_samples")
    of_test = "" if test is None else f", {test:,} of them test"
    times = ""
    if facts.get("last_ms") is not None:
        times = f"{facts['first_ms']:g} to {facts['last_ms']:g} ms"
    counts = facts.get("label_counts") or []
    labels = ", ".join(f"{each['label']}: {each['samples']:,}" for each in counts[:LABELS])
    more = ", ..." if len(counts) > LABELS else ""
    events = ""
    if facts.get("events"):
        events = (
            f"{facts['events']:,} ({per_sample['mean']:.1f} per sample, {per_sample['min']:,} to "
            f"{per_sample['max']:,})"
        )
    show_facts(
        [
            ("version", version.reference),
            ("state", version.state),
            ("refused", version.refusal or ""),
            ("kind", version.kind or ""),
            ("format", facts.get("format", "")),
            ("samples", _count(version, "samples") + of_test),
            ("channels", _count(version, "channels")),
            ("classes", _count(version, "classes") if facts.get("classes") else ""),
            ("targets", _targets(facts)),
            ("steps", _count(version, "steps")),
            ("times", times),
            ("events", events),
            ("labels", labels + more),
            ("warnings", "\n".join(version.warnings)),
            ("size", size_text(version.size)),
            ("sha256", version.sha256),
            ("jobs", f"{version.jobs:,}"),
            ("agents", ", ".join(version.json.get("agents", []))),
            ("created", minute_text(version.created_at)),
        ]
    )


def _draw(sample: dict[str, Any], version: DatasetVersion) -> None:
    facts = version.facts or {}
    show()
    if sample["values"] is not None:
        shape = " x ".join(map(str, sample["shape"]))
        show(f"{_named(sample)}: {shape} values")
        return
    is_steps = sample["time_unit"] == "step"
    end = float(sample["steps"] or 1) if is_steps else float(sample["end_ms"] or 1.0)
    unit = "steps" if is_steps else "ms"
    show(
        f"{_named(sample)}: {sample['events']:,} events in "
        f"{end:g} {unit}, channels 0 (bottom) to {facts['channels'] - 1:,}"
    )
    for line in raster(sample["times"], sample["event_channels"], end, facts["channels"]):
        show(line)


def _count(version: DatasetVersion, name: str) -> str:
    value = (version.facts or {}).get(name)
    return "" if value is None else f"{value:,}"


def _short(version: DatasetVersion) -> str:
    samples, channels = _count(version, "samples"), _count(version, "channels")
    return f"{samples} samples, {channels} channels, {_count(version, 'classes')} classes"


def _targets(facts: dict[str, Any]) -> str:
    """Return how many target values a data set has; empty without targets."""
    if not facts.get("outputs"):
        return ""
    values = f"{facts['outputs']:,} value" + ("" if facts["outputs"] == 1 else "s")
    steps = facts.get("target_steps")
    return f"{values} a sample" if steps is None else f"{values} at each of {steps:,} steps"


def _named(sample: dict[str, Any]) -> str:
    label = "" if sample["label"] is None else f", label {sample['label']}"
    return f"sample {sample['sample']}{label}"
