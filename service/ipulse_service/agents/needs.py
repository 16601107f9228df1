"""The needs of a job: a kind of device, IPUs, a data set, its requirements, and a pool."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import NamedTuple

from ipulse.spec import (
    AnySpec,
    CodeSpec,
    DigitsData,
    ExperimentSpec,
    NpzData,
    Recording,
    ScriptSpec,
)
from ipulse_core import strict_json
from ipulse_core.capabilities import (
    COMPILER,
    H5PY,
    IPU_TENSORFLOW,
    KERNELS,
    NIR,
    SANDBOX,
    SCIKIT_LEARN,
)
from ipulse_core.data_sets import key_of
from ipulse_core.limits import DEFAULT_POOL
from ipulse_core.registry.kinds import DEVICES
from ipulse_core.spec.custom_ops import op_layers
from ipulse_core.spec.kind_fields import field_of
from ipulse_core.spec.neuron_packages import package_names

_ONLY_COMPILES = ("PRE_COMPILE", "NEVER")  # connection types that attach no device
_HDF5 = ("shd", "ssc")  # kinds of data in HDF5 files


@dataclass(frozen=True)
class Requirements:
    """The requirements of a job, which are stored as one JSON text."""

    labels: Mapping[str, str] = field(default_factory=dict)
    software: tuple[str, ...] = ()  # capabilities, sorted
    neuron_packages: tuple[str, ...] = ()  # sorted
    too_little: Mapping[str, int] = field(default_factory=dict)  # on a worker, by capability

    def to_text(self) -> str | None:
        """Returns the JSON, which is equal for equal requirements; None if there are none."""
        given = {name: value for name, value in asdict(self).items() if value}
        return strict_json.dumps(json.loads(json.dumps(given, sort_keys=True))) if given else None

    @staticmethod
    def of_text(text: str) -> Requirements:
        """Returns the requirements of JSON."""
        return _read(text)


NOTHING = Requirements()


@lru_cache(256)  # a claim compares the same few for each queued job
def _read(text: str) -> Requirements:
    found = json.loads(text)
    return Requirements(
        labels=found.get("labels", {}),
        software=tuple(found.get("software", ())),
        neuron_packages=tuple(found.get("neuron_packages", ())),
        too_little=found.get("too_little", {}),
    )


class Needs(NamedTuple):
    """The needs of a job that not every agent meets."""

    device: str  # kind
    ipus: int = 0  # that it attaches; 0: none
    data_set: str | None = None  # KIND/NAME of files in the agent's data directory
    starts: bool = False  # from a stored file: of another job, an upload or a package
    requires: str | None = None  # its requirements as JSON
    pool: str = DEFAULT_POOL  # in which its agent is

    @property
    def requirements(self) -> Requirements:
        """The requirements of the job."""
        return Requirements.of_text(self.requires) if self.requires else NOTHING

    @property
    def has_code(self) -> bool:
        """True for a job with code of users."""
        return SANDBOX in self.requirements.software

    @classmethod
    def of_spec(cls, spec: AnySpec) -> Needs:
        """Returns the needs of a spec."""
        labels = dict(spec.device.where or {})
        software = tuple(sorted(set(_software(spec))))
        if isinstance(spec, CodeSpec):
            requires = Requirements(labels=labels, software=software).to_text()
            return cls(spec.device.kind, spec.device.ipus, requires=requires, pool=spec.device.pool)
        device, data = spec.device, spec.data
        ipus = 0
        if device.kind != "cpu" and device.connection_type not in _ONLY_COMPILES:
            ipus = device.ipus
        data_set = None
        if isinstance(data, (NpzData, Recording)) and data.dataset is None:
            data_set = key_of(data.kind, data.name)
        packages = tuple(sorted(package_names(spec.network)))
        requirements = Requirements(labels=labels, software=software, neuron_packages=packages)
        return cls(device.kind, ipus, data_set, requires=requirements.to_text(), pool=device.pool)


def _software(spec: AnySpec) -> Iterator[str]:
    """Yields the software of a worker that a spec needs."""
    if not isinstance(spec, ExperimentSpec):  # code of a user
        yield from (COMPILER, SANDBOX)
        if isinstance(spec, ScriptSpec):
            yield from (IPU_TENSORFLOW, *spec.requirements)
        return
    kinds = {layer.kind for layer in spec.network.layers}
    has_equations = any(field_of(layer, "neuron") is not None for layer in spec.network.layers)
    if op_layers(spec.network):
        yield from (COMPILER, SANDBOX)
    if DEVICES[spec.device.kind].has_tiles or has_equations or kinds & {"equations", "package"}:
        yield COMPILER
    else:
        yield KERNELS
    yield NIR  # every training leaves its network as a NIR file
    if isinstance(spec.data, DigitsData):
        yield SCIKIT_LEARN
    if spec.data.kind in _HDF5:
        yield H5PY
