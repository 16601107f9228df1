"""Checks an installed package of neurons: `python -m ipulse_ops.neuron_package.check NAME`.

It imports the package and runs its code: read it first. `--digest` prints the digest only, and
imports nothing. Exit code 0: fit; 1: a check failed; 2: no such package, or it cannot be used.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import List, Optional

from ipulse_core.spec.neuron_packages import GROUP, VARIABLE
from ipulse_ops.neuron_package.check.judgement import CheckedCase, judge
from ipulse_ops.neuron_package.loading import (
    InstalledPackage,
    PackageUnavailable,
    import_package,
    installed_packages,
)


def main(arguments: Optional[List[str]] = None) -> int:
    """Run the command line and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m ipulse_ops.neuron_package.check",
        description=__doc__,
        epilog="Example: python -m ipulse_ops.neuron_package.check coupled_dendrites --digest",
    )
    parser.add_argument("name", help=f"name of an entry point of the group {GROUP}")
    parser.add_argument("--digest", action="store_true", help="print the digest; import nothing")
    parser.add_argument("--json", action="store_true", help="print a document with every check")
    options = parser.parse_args(arguments)
    packages = installed_packages()
    named = [each for each in packages if each.name == options.name]
    if len(named) != 1:
        sys.stderr.write(f"{_not_one(options.name, named, packages)}\n")
        return 2
    (package,) = named
    if package.unfit:
        sys.stderr.write(f"{package.name} ({package.version}): {package.unfit}\n")
        return 2
    if options.digest:
        sys.stdout.write(f"{package.reference}\n")
        return 0
    try:
        found = judge(import_package(package).neurons)
    except PackageUnavailable as error:
        sys.stderr.write(f"{error.message}\n")
        return 2
    fine = not any(finding.problems for finding in found)
    if options.json:
        sys.stdout.write(json.dumps(_document(package, found, fine)) + "\n")
    else:
        _show(package, found, fine)
    return 0 if fine else 1


def _not_one(name: str, named: List[InstalledPackage], packages: List[InstalledPackage]) -> str:
    if named:
        versions = ", ".join(each.version for each in named)
        return f"several packages have neurons {name}: {versions}; uninstall all but one"
    names = ", ".join(sorted(each.name for each in packages)) or "none"
    return (
        f"no package of neurons {name} is installed in {sys.executable}: install its wheel there; "
        f"installed are: {names}"
    )


def _document(package: InstalledPackage, found: List[CheckedCase], fine: bool) -> object:
    return {
        "package": package.reference,
        "version": package.version,
        "fine": fine,
        "findings": [finding._asdict() for finding in found],
    }


def _show(package: InstalledPackage, found: List[CheckedCase], fine: bool) -> None:
    lines = [f"{package.name} ({package.version})"]
    for finding in found:
        state = "failed" if finding.problems else "passed"
        lines.append(f"{state}  {finding.check}: {finding.case}")
        lines += [f"        {problem}" for problem in finding.problems]
    lines.append(package.reference)
    if fine:
        lines.append("fit: to sign it off, list it for the service and for each worker with it:")
        lines.append(f"{VARIABLE}={package.reference}")
    else:
        failed = sum(bool(finding.problems) for finding in found)
        lines.append(f"not fit: {failed} of {len(found)} checks failed")
    sys.stdout.write("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    sys.exit(main())
