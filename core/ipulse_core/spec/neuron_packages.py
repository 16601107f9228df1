"""Packages of neurons that an administrator installs: their names, their parameters, their list.

A package is named by its entry point and its digest, as in `dendrite@sha256:0123...`. Its code runs
only if the administrator listed this name in IPULSE_NEURON_PACKAGES of the service and of the
worker.
"""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass
from typing import Any, Dict, Iterator, List, Sequence, Tuple

from ipulse_core.errors import Problem
from ipulse_core.spec.custom_ops import REFERENCE

PACKAGE = REFERENCE  # pattern of the name in a spec
GROUP = "ipulse.neurons"  # of the entry points of packages
VARIABLE = "IPULSE_NEURON_PACKAGES"  # names that are signed off, separated by commas
MAX_PACKAGES = 64  # that are signed off
MAX_PARAMETERS = 16
PARAMETER_NAME = r"^[A-Za-z][A-Za-z0-9_]{0,31}$"


@dataclass(frozen=True)
class PackageParameter:
    """A number of each neuron that a package declares.

    name: letters, digits and underscores.
    default: the value where a spec gives none.
    minimum, maximum: bounds of every value, also in training.
    per_neuron: whether neurons may have different values; False: one value for the layer.
    trainable: whether a spec may have it trained.
    """

    name: str
    default: float
    minimum: float
    maximum: float
    per_neuron: bool = True
    trainable: bool = True

    def __post_init__(self) -> None:
        """Raise ValueError for a wrong name, or bounds that do not contain the default."""
        if not re.fullmatch(PARAMETER_NAME, self.name):
            raise ValueError(f"a parameter's name must match {PARAMETER_NAME}; got {self.name!r}")
        values = (self.minimum, self.default, self.maximum)
        if not all(map(math.isfinite, values)) or list(values) != sorted(values):
            raise ValueError(
                f"parameter {self.name}: minimum, default and maximum must be finite and in this "
                f"order; got {values}"
            )

    def to_json(self) -> Dict[str, Any]:
        """Returns the parameter as JSON."""
        return asdict(self)


@dataclass(frozen=True)
class PackageDescription:
    """A package that a worker has, as it tells the service."""

    package: str  # NAME@sha256:DIGEST
    version: str
    parameters: Tuple[PackageParameter, ...]

    def to_json(self) -> Dict[str, Any]:
        """Returns the description as JSON."""
        return {
            "package": self.package,
            "version": self.version,
            "parameters": [each.to_json() for each in self.parameters],
        }

    @classmethod
    def from_json(cls, found: Any) -> PackageDescription:
        """Returns the description of a JSON object. Raises ValueError, TypeError, KeyError."""
        parameters = tuple(PackageParameter(**each) for each in found["parameters"])
        return cls(str(found["package"]), str(found["version"]), parameters)


def signed_off(text: str) -> Tuple[str, ...]:
    """Returns the packages that a value of IPULSE_NEURON_PACKAGES lists.

    Raises:
        ValueError: an entry is not NAME@sha256:DIGEST, or there are too many.
    """
    found = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    for each in found:
        if not re.fullmatch(PACKAGE, each):
            raise ValueError(
                f"must list packages as NAME@sha256:DIGEST, separated by commas; got {each!r}: "
                "`python -m ipulse_ops.neuron_package.check NAME` prints it"
            )
    if len(found) > MAX_PACKAGES:
        raise ValueError(f"lists {len(found)} packages; at most {MAX_PACKAGES} are allowed")
    return found


def has_package(layer: Any) -> bool:
    """Returns whether a layer of a spec has neurons of a package."""
    return bool(layer.kind == "package")


def package_layers(network: Any) -> List[Tuple[int, Any]]:
    """Returns the layers with neurons of packages with their indices, from 0."""
    return [(index, layer) for index, layer in enumerate(network.layers) if has_package(layer)]


def package_names(network: Any) -> List[str]:
    """Returns the different packages of a network, in order."""
    return list(dict.fromkeys(layer.neuron.package for _, layer in package_layers(network)))


def parameter_problems(declared: Sequence[PackageParameter], neuron: Any) -> Iterator[Problem]:
    """Yields why the parameters of a spec do not fit a package; pointers begin at the neuron.

    Args:
        declared: The parameters of the package.
        neuron: `neuron` of a layer: a model of `ipulse.spec`, or the runner's document.
    """
    by_name = {each.name: each for each in declared}
    for index, given in enumerate(neuron.parameters):
        place = f"/parameters/{index}"
        known = by_name.get(given.name)
        if known is None:
            names = ", ".join(by_name) or "none"
            detail = f"the package has no parameter {given.name}; it has: {names}"
            yield Problem(f"{place}/name", "unknown_field", detail)
            continue
        values = given.value if isinstance(given.value, (list, tuple)) else [given.value]
        for value in values:
            if value is not None and not known.minimum <= value <= known.maximum:
                detail = (
                    f"{given.name} of this package is from {known.minimum:g} to "
                    f"{known.maximum:g}; got {value:g}"
                )
                yield Problem(f"{place}/value", "out_of_range", detail)
                break
        if given.trainable and not known.trainable:
            detail = f"{given.name} of this package cannot be trained: remove trainable"
            yield Problem(f"{place}/trainable", "unsupported", detail)
        if given.per == "neuron" and not known.per_neuron:
            detail = f"{given.name} of this package has one value for the layer: set per: layer"
            yield Problem(f"{place}/per", "unsupported", detail)
