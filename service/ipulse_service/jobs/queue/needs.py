"""The needs of a job: a kind of device, a number of IPUs, a data set, and labels."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from ipulse.spec import AnySpec, NpzData, PoplarProgramSpec, Recording
from ipulse_core import strict_json
from ipulse_core.data_sets import key_of
from ipulse_core.op_manifest.layer import op_layers
from ipulse_core.spec.neuron_packages import package_names
from ipulse_service.jobs.job import JobRow

_ONLY_COMPILES = ("PRE_COMPILE", "NEVER")  # connection types that attach no device


class Needs(NamedTuple):
    """The needs of a job that not every agent meets."""

    device: str  # kind
    ipus: int = 0  # that it attaches; 0: none
    data_set: str | None = None  # KIND/NAME of files in the agent's data directory
    starts: bool = False  # from a stored file: of another job, an upload or a package
    where_labels: str | None = None  # labels that the agent must have, as sorted JSON
    sandbox: bool = False  # it has code of users
    neuron_packages: str | None = None  # packages of neurons, as sorted JSON
    tried: str | None = None  # what was not enough on a worker, as sorted JSON

    @property
    def too_little(self) -> Mapping[str, int]:
        """What was not enough on a worker, by capability."""
        return _amounts(self.tried) if self.tried else {}

    @classmethod
    def of_spec(cls, spec: AnySpec) -> Needs:
        """Returns the needs of a spec."""
        if isinstance(spec, PoplarProgramSpec):
            labels = _as_text(spec.device.where)
            return cls(spec.device.kind, spec.device.ipus, where_labels=labels, sandbox=True)
        device, data = spec.device, spec.data
        ipus = 0
        if device.kind != "cpu" and device.connection_type not in _ONLY_COMPILES:
            ipus = device.ipus
        data_set = None
        if isinstance(data, (NpzData, Recording)) and data.dataset is None:
            data_set = key_of(data.kind, data.name)
        has_ops = bool(op_layers(spec.network))
        packages = sorted(package_names(spec.network))
        return cls(
            device.kind,
            ipus,
            data_set,
            where_labels=_as_text(device.where),
            sandbox=has_ops,
            neuron_packages=strict_json.dumps(packages) if packages else None,
        )

    @classmethod
    def of_job(cls, job: JobRow) -> Needs:
        """Returns the needs that were stored when the job was submitted."""
        starts = job.start_from is not None
        return cls(
            job.device,
            job.ipus,
            job.data_set,
            starts,
            job.where_labels,
            job.sandbox,
            job.neuron_packages,
            job.tried,
        )


@lru_cache(256)  # a claim compares the same few for each queued job
def _amounts(text: str) -> dict[str, int]:
    amounts: dict[str, int] = json.loads(text)
    return amounts


def _as_text(where: Mapping[str, str]) -> str | None:
    return strict_json.dumps(dict(sorted(where.items()))) if where else None
