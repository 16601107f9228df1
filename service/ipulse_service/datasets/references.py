"""How specs refer to data sets: by name until they are submitted, by digest from then on."""

from __future__ import annotations

from typing import Any

from ipulse.spec import (
    AnySpec,
    EventsData,
    ExperimentSpec,
    NpzData,
    Recording,
    ScriptSpec,
    parse_job_spec,
    parse_spec,
)
from ipulse_core.errors import InvalidSpec, Problem
from ipulse_core.spec.derived_values import (
    REGRESSION_LOSSES,
    has_step_targets,
    is_regression,
    loss_name,
)
from ipulse_core.spec.kind_fields import field_of
from ipulse_core.spec.time_rounding import last_step
from ipulse_service.datasets import removal, versions
from ipulse_service.datasets.facts import DatasetFacts
from ipulse_service.datasets.versions import VersionRow
from ipulse_service.db.engine import Transaction
from ipulse_service.db.version_states import CHECKING, DELETED, REFUSED

MAX_STEPS = 10_000
MAX_CLASSES = 1000
_DIGEST = "sha256:"
_PLACE = "/data/dataset"


def digest_of(spec: AnySpec) -> str | None:
    """Returns the SHA-256 of the uploaded data that a resolved spec needs."""
    reference = _reference(spec)
    return reference.removeprefix(_DIGEST) if reference and ":" in reference else None


def resolve(transaction: Transaction, spec: AnySpec, value: dict[str, Any]) -> AnySpec:
    """Returns the spec with the digest in place of the name, and with sizes from the data set.

    `value` is the spec as JSON with every default.

    Raises InvalidSpec if there is no such version that is ready, or the spec does not fit it.
    """
    reference = _reference(spec)
    if reference is None:
        return spec
    version = _find(transaction, reference)
    kind = value["data"]["kind"]
    if kind != version.kind:
        raise _refused(
            "/data/kind",
            "dataset_kind",
            f"{version.reference} is of the kind {version.kind}; got {kind}",
        )
    data = {**value["data"], "dataset": _DIGEST + version.sha256}
    if not isinstance(spec, ExperimentSpec):  # the script has to know what is in it
        return parse_job_spec({**value, "data": data})
    facts = version.parsed_facts
    assert facts is not None  # noqa: S101 - of a version that is ready
    if isinstance(spec.data, (NpzData, EventsData)):
        data.update(_sizes(spec, spec.data, version, facts))
    return parse_spec({**value, "data": data})


def pin(transaction: Transaction, spec: AnySpec) -> None:
    """Keeps the data of a resolved spec from being deleted before the transaction ends.

    Raises InvalidSpec if they have been deleted since the spec was resolved.
    """
    digest = digest_of(spec)
    if digest is not None:
        transaction.lock(removal.content_lock(digest))
        _find(transaction, _DIGEST + digest)


def _reference(spec: AnySpec) -> str | None:
    if isinstance(spec, ScriptSpec):
        return None if spec.data is None else spec.data.dataset
    if not isinstance(spec, ExperimentSpec):
        return None
    if isinstance(spec.data, (NpzData, EventsData, Recording)):
        return spec.data.dataset
    return None


def _find(transaction: Transaction, reference: str) -> VersionRow:
    if reference.startswith(_DIGEST):
        found = versions.by_digest(transaction, reference.removeprefix(_DIGEST))
        if found is None:
            raise _unknown("no data set has this content; `ipulse data push` uploads it")
        return found
    name, _, number = reference.partition("@")
    if not number:
        return _latest(transaction, name)
    for version in versions.find_all(transaction, name):
        if version.number == int(number):
            return _ready(version)
    raise _unknown(f"there is no version {number} of a data set {name}")


def _latest(transaction: Transaction, name: str) -> VersionRow:
    ready = versions.latest_ready(transaction, name)
    if ready is not None:
        return ready
    for version in versions.find_all(transaction, name):
        if version.state != DELETED:
            return _ready(version)
    raise _unknown(f"there is no data set {name}")


def _ready(version: VersionRow) -> VersionRow:
    if version.state == CHECKING:
        detail = f"{version.reference} is still being checked; try again in a few seconds"
        raise _refused(_PLACE, "dataset_checking", detail)
    if version.state == REFUSED:
        detail = f"{version.reference} is refused: {version.refusal}"
        raise _refused(_PLACE, "dataset_refused", detail)
    if version.state == DELETED:
        raise _unknown(f"{version.reference} is deleted")
    return version


def _sizes(
    spec: ExperimentSpec, data: NpzData | EventsData, version: VersionRow, facts: DatasetFacts
) -> dict[str, Any]:
    """Returns channels, classes or outputs, and steps. Raises InvalidSpec if they do not fit."""
    problems = []
    name = version.reference
    is_fixed = facts.form in ("spikes", "values")  # each sample is an array of so many
    if data.channels and (
        data.channels != facts.channels if is_fixed else data.channels < facts.channels
    ):
        what = "has" if is_fixed else "needs at least"
        detail = f"{name} {what} {facts.channels:,} channels; got {data.channels:,}"
        problems.append(Problem("/data/channels", "dataset_mismatch", detail))
    is_of_values = isinstance(data, NpzData) and is_regression(spec.training)
    readout = _outputs if is_of_values else _classes
    sizes = readout(spec, version, facts, problems)
    if isinstance(data, NpzData) and (facts.form == "values") != (data.encoding is not None):
        needs = "has values: give an encoding" if data.encoding is None else "has spikes already"
        detail = f"{name} {needs}"
        problems.append(Problem("/data/encoding", "dataset_mismatch", detail))
    if facts.has_counts and field_of(data, "input") != "counts":
        detail = (
            f"{name} has several events of a channel in one step: set data.input to counts, or "
            "upload spikes of 0 and 1"
        )
        problems.append(Problem("/data/input", "dataset_mismatch", detail))
    steps = data.steps or _steps(data, name, facts, problems)
    if problems:
        raise InvalidSpec(problems)
    return {"channels": data.channels or facts.channels, **sizes, "steps": steps}


def _classes(
    spec: ExperimentSpec, version: VersionRow, facts: DatasetFacts, problems: list[Problem]
) -> dict[str, Any]:
    """Returns the number of classes, and adds what does not fit to the problems."""
    name, given = version.reference, field_of(spec.data, "classes")
    classes = given or max(2, facts.classes)
    if not facts.classes:
        detail = f"{name} has targets and no labels: use {', '.join(REGRESSION_LOSSES)}"
        problems.append(Problem("/training/loss", "dataset_mismatch", detail))
    elif classes > MAX_CLASSES:
        detail = f"{name} has labels up to {facts.classes - 1:,}; at most {MAX_CLASSES - 1:,}"
        problems.append(Problem("/data/classes", "dataset_mismatch", detail))
    elif classes < facts.classes:
        detail = f"{name} has labels up to {facts.classes - 1:,}; got {given:,} classes"
        problems.append(Problem("/data/classes", "dataset_mismatch", detail))
    return {"classes": classes}


def _outputs(
    spec: ExperimentSpec, version: VersionRow, facts: DatasetFacts, problems: list[Problem]
) -> dict[str, Any]:
    """Returns the number of target values, and adds what does not fit to the problems."""
    name, given = version.reference, field_of(spec.data, "outputs")
    loss = loss_name(spec.training)
    found = facts.outputs or 0
    if not found:
        detail = f"{name} has no targets, which the loss {loss} needs: add the array targets"
        problems.append(Problem("/training/loss", "dataset_mismatch", detail))
    elif found > MAX_CLASSES or given not in (0, found):
        limit = f"; got {given:,}" if given else f"; at most {MAX_CLASSES:,} are possible"
        detail = f"{name} has {found:,} target values{limit}"
        problems.append(Problem("/data/outputs", "dataset_mismatch", detail))
    steps = facts.target_steps
    if steps is not None and not has_step_targets(spec.training):
        detail = f"{name} has targets of {steps:,} steps, and the loss needs one a sample: step_mse"
        problems.append(Problem("/training/loss", "dataset_mismatch", detail))
    if steps is not None and spec.data.steps not in (0, steps):
        detail = f"{name} has targets of {steps:,} steps; got {spec.data.steps:,}"
        problems.append(Problem("/data/steps", "dataset_mismatch", detail))
    return {"outputs": found}


def _steps(
    data: NpzData | EventsData, name: str, facts: DatasetFacts, problems: list[Problem]
) -> int:
    """Returns the steps of the data set itself, or up to its last event."""
    steps = facts.steps or facts.target_steps
    if steps is None and facts.last_ms is None:
        detail = f"is required: {name} has values, of which the encoding makes spikes"
        problems.append(Problem("/data/steps", "missing", detail))
        return 0
    if steps is None:
        kind = facts.time_type or "float32"  # of versions that were checked by earlier releases
        steps = last_step(max(0.0, facts.last_ms or 0.0), data.step_ms, kind) + 1
    if steps > MAX_STEPS:
        detail = (
            f"{name} has {steps:,} steps of {data.step_ms:g} ms; at most {MAX_STEPS:,} are "
            "possible: give steps, or a larger step_ms"
        )
        problems.append(Problem("/data/steps", "dataset_mismatch", detail))
    return steps


def _unknown(detail: str) -> InvalidSpec:
    hint = "`ipulse data list` lists the data sets, and `ipulse data push` uploads one"
    return _refused(_PLACE, "dataset_unknown", f"{detail}: {hint}")


def _refused(pointer: str, code: str, detail: str) -> InvalidSpec:
    return InvalidSpec([Problem(pointer, code, detail)])
