"""The packages of neurons of this Python: `python -m ipulse_ops.neuron_package.overview`.

It prints JSON with every package that is installed here or signed off in IPULSE_NEURON_PACKAGES.
Only those that are signed off are imported.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from typing import Dict, List, Mapping, Sequence, Tuple

from ipulse_core.spec.custom_ops import OpReference
from ipulse_core.spec.neuron_packages import PackageDescription, PackageParameter
from ipulse_ops.neuron_package.loading import (
    NOT_SIGNED_OFF,
    UNFIT,
    InstalledPackage,
    PackageUnavailable,
    installed_packages,
    load_package,
    signed_off_packages,
)

USABLE = "usable"


@dataclass(frozen=True)
class PackageState:
    """A package that is installed or signed off, and whether jobs can use it here."""

    name: str
    digest: str  # signed off, else installed; empty if the files cannot be signed off
    version: str  # name and version of the installed distribution; empty if there is none
    state: str  # usable, or one of PACKAGE_FAULTS
    detail: str  # what is wrong; empty if it is usable
    installed_digest: str = ""
    parameters: Tuple[PackageParameter, ...] = ()  # of a usable package

    @property
    def description(self) -> PackageDescription:
        """The package as agents tell it to the service."""
        reference = str(OpReference(self.name, self.digest))
        return PackageDescription(reference, self.version, self.parameters)


def signed_off_states(allowed: Sequence[str]) -> List[PackageState]:
    """Import the packages that are signed off, and return what can be used of them."""
    installed = {each.name: each for each in installed_packages()}
    return [_signed_off(reference, allowed, installed) for reference in allowed]


def all_states(environment: Mapping[str, str]) -> List[PackageState]:
    """Return the packages that are signed off, then those that are only installed.

    Raises PackageUnavailable if the setting is wrong.
    """
    allowed = signed_off_packages(environment)
    names = {OpReference.of(reference).name for reference in allowed}
    rest = [each for each in installed_packages() if each.name not in names]
    return signed_off_states(allowed) + [_only_installed(each) for each in rest]


def _signed_off(
    reference: str, allowed: Sequence[str], installed: Mapping[str, InstalledPackage]
) -> PackageState:
    wanted = OpReference.of(reference)
    present = installed.get(wanted.name)
    version, digest = (present.version, present.digest) if present else ("", "")
    try:
        described = load_package(reference, allowed).description
    except PackageUnavailable as error:
        fault = error.state, error.message
        return PackageState(wanted.name, wanted.digest, version, *fault, installed_digest=digest)
    usable = USABLE, "", digest, described.parameters
    return PackageState(wanted.name, wanted.digest, described.version, *usable)


def _only_installed(package: InstalledPackage) -> PackageState:
    state, detail = NOT_SIGNED_OFF, "installed, but not signed off on this machine"
    if package.unfit:
        state, detail = UNFIT, package.unfit
    digest = package.digest
    return PackageState(package.name, digest, package.version, state, detail, digest)


def main() -> None:
    """Print the packages, or what is wrong with the setting."""
    found: Dict[str, object] = {"python": sys.executable, "problem": "", "packages": []}
    with redirect_stdout(sys.stderr):  # the code of a package may print
        try:
            found["packages"] = [asdict(each) for each in all_states(os.environ)]
        except PackageUnavailable as error:
            found["problem"] = error.message
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
