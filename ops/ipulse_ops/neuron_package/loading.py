"""Finds installed packages of neurons, and imports those that are signed off."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import (
    Distribution,
    EntryPoint,
    PackageNotFoundError,
    distribution,
    distributions,
)
from pathlib import Path
from typing import Any, Collection, Iterator, List, Mapping, Optional, Sequence, Tuple

from ipulse_core.errors import IPUlseError
from ipulse_core.spec.custom_ops import OpReference
from ipulse_core.spec.neuron_packages import (
    GROUP,
    MAX_PARAMETERS,
    VARIABLE,
    PackageDescription,
    PackageParameter,
    signed_off,
)
from ipulse_ops.neuron_package.digest import UnfitDistribution, digest_of, module_paths
from ipulse_ops.neuron_package.interface import NeuronPackage

NOT_SIGNED_OFF = "not_signed_off"
NOT_INSTALLED = "not_installed"
NO_ENTRY_POINT = "no_entry_point"
OTHER_DIGEST = "other_digest"
UNFIT = "unfit"
NOT_IMPORTABLE = "not_importable"
PACKAGE_FAULTS = (
    NOT_SIGNED_OFF,
    NOT_INSTALLED,
    NO_ENTRY_POINT,
    OTHER_DIGEST,
    UNFIT,
    NOT_IMPORTABLE,
)


class PackageUnavailable(IPUlseError):
    """This machine has not the package of neurons, or its administrator did not sign it off."""

    code = "package_unavailable"

    def __init__(self, message: str, state: str = NOT_IMPORTABLE) -> None:
        super().__init__(message)
        self.state = state  # what is wrong, one of PACKAGE_FAULTS


@dataclass(frozen=True)
class InstalledPackage:
    """A package that is installed; its code was not imported."""

    name: str  # of its entry point
    distribution: Distribution
    entry_point: EntryPoint
    digest: str  # empty if it cannot be signed off
    unfit: str = ""  # why

    @property
    def reference(self) -> str:
        """The package as specs and settings name it."""
        return str(OpReference(self.name, self.digest))

    @property
    def version(self) -> str:
        """Name and version of the distribution."""
        return f"{self.distribution.metadata['Name']} {self.distribution.version}"


@dataclass(frozen=True)
class LoadedPackage:
    """A package whose code was imported, and what it says of itself."""

    neurons: NeuronPackage
    description: PackageDescription


def installed_packages(path: Optional[Sequence[str]] = None) -> List[InstalledPackage]:
    """Return the packages on sys.path, or on another path; nothing of them is imported."""
    found = []
    options: Any = {} if path is None else {"path": list(path)}
    seen = set()
    for each in distributions(**options):
        name = str(each.metadata["Name"]).lower().replace("_", "-")
        if name in seen:  # a later one on the path, which Python does not import
            continue
        seen.add(name)
        entries = [entry for entry in each.entry_points if entry.group == GROUP]
        if not entries:
            continue
        digest = unfit = ""
        try:
            digest = digest_of(each)
        except (UnfitDistribution, OSError) as error:
            unfit = str(error)
        found += [InstalledPackage(entry.name, each, entry, digest, unfit) for entry in entries]
    return found


def signed_off_packages(environment: Mapping[str, str]) -> Tuple[str, ...]:
    """Return the packages that the administrator of this machine signed off.

    Raises PackageUnavailable if the setting is wrong.
    """
    try:
        return signed_off(environment.get(VARIABLE, ""))
    except ValueError as error:
        raise PackageUnavailable(f"{VARIABLE} of this worker {error}") from error


def load_package(reference: str, allowed: Collection[str]) -> LoadedPackage:
    """Import a package and return it.

    reference: NAME@sha256:DIGEST.
    allowed: the references that the administrator signed off.

    Raises PackageUnavailable, before anything of the package is imported, if it is not signed off,
    or not installed with this digest; and if it cannot be imported.
    """
    if reference not in allowed:
        raise PackageUnavailable(
            f"{reference} is not signed off on this worker: its administrator checks the package "
            f"and lists it in {VARIABLE}",
            NOT_SIGNED_OFF,
        )
    named = [each for each in installed_packages() if each.name == OpReference.of(reference).name]
    for each in named:
        if each.digest and each.reference == reference:
            return import_package(each)
    raise _why_not(reference, named)


def import_package(package: InstalledPackage) -> LoadedPackage:
    """Import an installed package without asking whether it is signed off.

    Raises PackageUnavailable if it cannot be imported, or has not the interface.
    """
    try:
        if package.unfit:
            raise UnfitDistribution(package.unfit)
        _require_own_module(package)
        with _without_bytecode():
            neurons = _entry_of(package)()
        if not isinstance(neurons, NeuronPackage):
            raise TypeError(f"{package.entry_point.value} is no NeuronPackage")
        parameters = _parameters_of(neurons)
    except Exception as error:  # the code of the package may raise anything
        is_own = isinstance(error, (PackageUnavailable, UnfitDistribution))  # a sentence
        why = str(error) if is_own else f"{type(error).__name__}: {error}"
        raise PackageUnavailable(
            f"the package {package.reference} ({package.version}) cannot be used: {why}",
            getattr(error, "state", UNFIT if package.unfit else NOT_IMPORTABLE),
        ) from error
    description = PackageDescription(package.reference, package.version, parameters)
    return LoadedPackage(neurons, description)


def _entry_of(package: InstalledPackage) -> Any:
    """Import the module of an entry point, and return the object that it names."""
    module, _, name = package.entry_point.value.partition(":")
    try:
        return package.entry_point.load()
    except AttributeError as error:
        if module.strip() not in sys.modules:  # raised by the module itself
            raise
        raise PackageUnavailable(
            f"its entry point names {name.strip()}, which {module.strip()} does not have",
            NO_ENTRY_POINT,
        ) from error


def _parameters_of(neurons: NeuronPackage) -> Tuple[PackageParameter, ...]:
    parameters = tuple(neurons.parameters)
    names = [each.name for each in parameters]
    if not all(isinstance(each, PackageParameter) for each in parameters):
        raise TypeError("its parameters are no list of ipulse_ops.neuron_package.Parameter")
    if len(set(names)) < len(names) or len(names) > MAX_PARAMETERS:
        raise ValueError(f"it needs at most {MAX_PARAMETERS} parameters of different names")
    return parameters


def _require_own_module(package: InstalledPackage) -> None:
    """Raise UnfitDistribution unless Python would import the file that the digest covers."""
    top = package.entry_point.value.partition(":")[0].partition(".")[0].strip()
    spec = importlib.util.find_spec(top)  # of a name without dots: it imports nothing
    own = {str(path.resolve()) for path in module_paths(package.distribution).values()}
    origin = None if spec is None else spec.origin
    if origin is None or str(Path(origin).resolve()) not in own:
        raise UnfitDistribution(
            f"its entry point names {top}, which Python finds at {origin}: no file of the package"
        )


@contextmanager
def _without_bytecode() -> Iterator[None]:
    """Import from sources, because cached bytecode is not part of the digest."""
    before = sys.pycache_prefix, sys.dont_write_bytecode
    with tempfile.TemporaryDirectory() as empty:
        sys.pycache_prefix, sys.dont_write_bytecode = empty, True
        importlib.invalidate_caches()
        try:
            yield
        finally:
            sys.pycache_prefix, sys.dont_write_bytecode = before


def _why_not(reference: str, named: Sequence[InstalledPackage]) -> PackageUnavailable:
    fix = "the administrator installs the wheel that was signed off"
    if named:
        found = "; ".join(each.unfit or f"{each.reference} ({each.version})" for each in named)
        message = f"{reference} is signed off, and this worker has another one: {found}; {fix}"
        return PackageUnavailable(
            message, OTHER_DIGEST if any(each.digest for each in named) else UNFIT
        )
    same = _of_this_name(OpReference.of(reference).name)
    if same:
        message = f"{reference} is signed off, but {same} has no entry point of {GROUP} with this"
        return PackageUnavailable(f"{message} name; {fix}", NO_ENTRY_POINT)
    message = f"{reference} is signed off, but not installed on this worker: {fix}"
    return PackageUnavailable(message, NOT_INSTALLED)


def _of_this_name(name: str) -> str:
    """Return the installed distribution with the name of a package of neurons, or nothing."""
    try:
        found = distribution(name.replace("_", "-"))
    except (PackageNotFoundError, ValueError):
        return ""
    return f"{found.metadata['Name']} {found.version}"
