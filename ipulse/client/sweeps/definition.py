"""The definition of a sweep from an experiment and the settings that vary."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ipulse.client.submission import Submittable, document_of

if TYPE_CHECKING:
    from ipulse.sweeps import SweepConfig


def sweep_definition(
    experiment: Submittable | SweepConfig,
    name: str | None,
    vary: Mapping[str, Any] | None,
    seeds: int | Sequence[int],
    fields: Mapping[str, Any],
) -> SweepConfig:
    """Return the definition of a sweep; a list of values is an axis of a grid.

    `fields` has others of the definition, and the metric and the goal of its objective. A mapping
    without `vary` is the whole definition, and the other arguments are not used. Without `vary` an
    experiment or a file has one trial, with several `seeds`.

    Raises InvalidSpec for a path that means no single field, InvalidSweep with every problem.
    """
    from ipulse.experiment import Experiment
    from ipulse.experiment.part import plain
    from ipulse.spec.paths import find_path, pointer
    from ipulse.sweeps import SweepConfig, parse_sweep, replica_seeds

    if isinstance(experiment, SweepConfig):
        return experiment
    if vary is None and isinstance(experiment, Mapping):
        return parse_sweep(experiment)
    document = document_of(experiment)
    if isinstance(document, (str, os.PathLike)):
        document = Experiment.load(document).to_json()
    spec = plain(document)
    parameters = {
        pointer(find_path(spec, path)): (
            dict(values) if isinstance(values, Mapping) else {"values": list(values)}
        )
        for path, values in (vary or {}).items()
    }
    drawn = any("values" not in parameter for parameter in parameters.values())
    given = {key: value for key, value in fields.items() if value is not None}
    objective = {key: given.pop(key) for key in ("metric", "goal") if given.get(key)}
    definition = {
        "sweep": name or spec.get("name", "experiment"),
        "spec": spec,
        "parameters": parameters,
        "seeds": replica_seeds(spec, seeds) if isinstance(seeds, int) else list(seeds),
        "method": "random" if drawn else "grid",
        "objective": objective,
        **given,
    }
    return parse_sweep(definition)
