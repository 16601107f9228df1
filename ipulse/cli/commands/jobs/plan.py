"""plan: what a job or a sweep would wait for and how long it would take; nothing is submitted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from ipulse.cli.commands.jobs.programs import has_package, local_reference, with_package
from ipulse.cli.completing import complete_setting
from ipulse.cli.display.progress import duration
from ipulse.cli.display.waiting import waiting_text
from ipulse.cli.exits import Exit
from ipulse.cli.options import Address, AsJSON, Settings, SpecPath, addressed
from ipulse.cli.terminal import emit, show_facts
from ipulse.spec import AnySpec
from ipulse.spec.document.file import SpecFile, read_spec_file
from ipulse.spec.document.settings import spec_of
from ipulse.sweeps.file import read_sweep
from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.pva.band import Band

_FIGURES = {"fit": "memory"}


@addressed
def plan(
    at: Address,
    file: SpecPath,
    settings: Settings = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=V1,V2",
            autocompletion=complete_setting,
            help="Plan the sweep over these values of a setting, as `ipulse sweep run` has it.",
        ),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, max=100, help="Jobs of each trial of a sweep.")
    ] = None,
    priority: Annotated[int, typer.Option(min=-100, max=100, help="Of the job.")] = 0,
    run_seconds: Annotated[
        int | None, typer.Option(min=1, help="The longest run, as `ipulse submit` has it.")
    ] = None,
    as_json: AsJSON = False,
) -> Exit:
    """Say when a job or a sweep would start and how long it would take; submit nothing.

    FILE is a spec, or a sweep in YAML. The time is that of jobs which did the same work, or
    follows from the work in a second of others on such a device, with the error of both.
    """
    read = read_spec_file(file)
    if vary or _is_sweep(read):
        if run_seconds is not None:
            detail = "--run-seconds is the limit of one job; those of a sweep have none"
            raise InvalidInput([Problem("/run_seconds", "contradiction", detail)], detail)
        config = read_sweep(file, settings or [], vary or [], seeds, priority=priority or None)
        with at.connect() as connection:
            found = connection.plan_sweep(config).json
        facts = _sweep_facts(found)
    else:
        spec: AnySpec
        if has_package(read):
            spec = with_package(read, settings, local_reference)
        else:
            spec = spec_of(read, settings)
        with at.connect() as connection:
            found = connection.plan(spec, priority, run_seconds).json
        facts = _job_facts(found)
    if as_json:
        emit(found)
    else:
        show_facts([*facts, ("waits for", waiting_text(found["waiting_on"])), *_quotas(found)])
    return Exit.OK


def _is_sweep(read: SpecFile) -> bool:
    return isinstance(read.value, dict) and bool({"parameters", "sweep"} & read.value.keys())


def _job_facts(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "agents", f"{found['able_agents']} of {found['agents']} can run it"
    yield "takes", expected_text(found.get("expected"))
    yield from _compiles(found)
    yield from _cycles_facts(found.get("cycles"))
    for figure, reason in found.get("not_predicted", {}).items():
        if reason is not None:
            yield _FIGURES.get(figure, figure), f"not predicted: {reason}"


def _cycles_facts(cycles: Mapping[str, Any] | None) -> Iterator[tuple[str, str]]:
    if cycles is None:
        return
    band, activity = cycles["band"], cycles["activity"]
    text = Band(band["low"], band["high"]).text
    yield "cycles", f"about {cycles['cycles']:,} emulated in a training step, {text}"
    for layer in cycles["layers"]:
        name = layer["name"] or "around the layers"
        yield name, f"{layer['forward']:,} forward, {layer['backward']:,} backward"
    spikes = ", ".join(f"{each['name']} {each['spikes']:,g}" for each in activity["layers"])
    basis = f"as in {activity['job']}" if activity["basis"] == "last_run" else "assumed"
    text = f"input {activity['input_spikes']:,g} (assumed), {spikes}"
    yield "spikes", f"in a step of a sample: {text} ({basis})"


def _sweep_facts(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    parallel = found["parallel"]
    yield "trials", f"{found['trials']:,}"
    yield "jobs", f"{found['jobs']:,}, {parallel} at the same time"
    yield "agents", f"{found['able_agents']} can run the first trial"
    yield "a job takes", expected_text(found["expected_job"])
    yield "all jobs take", expected_text(found["expected_devices"], with_basis=False)
    seconds = found["expected_seconds"]
    yield from _compiles(found)
    yield "ends after", "" if seconds is None else f"about {duration(seconds)}, if it runs alone"


def _compiles(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    is_cached = found.get("executable_cached")
    if is_cached is not None:
        yield (
            "program",
            "compiled before, on a machine that can run it" if is_cached else "compiled first",
        )


def expected_text(expected: Mapping[str, Any] | None, with_basis: bool = True) -> str:
    """Return how long something takes, with its error and what that is known from."""
    if expected is None:
        return "not known yet: no job on such a device has succeeded, or the data's size is unknown"
    least, most = (duration(expected[f"{name}_seconds"]) for name in ("least", "most"))
    text = f"about {duration(expected['seconds'])} ({least} to {most})"
    if not with_basis:
        return text
    jobs = f"{expected['jobs']} job{'s' if expected['jobs'] > 1 else ''}"
    if expected["basis"] == "like_jobs":
        return f"{text}, as {jobs} with the same work"
    return f"{text}, by the speed of {jobs} of other sizes"


def _quotas(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for quota in found["quotas"]:
        of = quota["user"] or f"project {quota['project']}"
        used = "" if quota["used"] is None else f"{quota['used']:,} of "
        yield "quota", f"{quota['name']} of {of}: {used}{quota['limit']:,}"
