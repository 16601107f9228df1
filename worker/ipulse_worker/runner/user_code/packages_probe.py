"""Says which packages of neurons this Python has and its administrator signed off, as JSON."""

from __future__ import annotations

import json
import os
import sys
from contextlib import redirect_stdout

from ipulse_ops.neuron_package.loading import PackageUnavailable, signed_off_packages
from ipulse_ops.neuron_package.overview import USABLE, signed_off_states


def main() -> None:
    """Print the descriptions of the packages, and what is wrong with others."""
    packages, problems = [], []
    with redirect_stdout(sys.stderr):  # the code of a package may print
        try:
            allowed = signed_off_packages(os.environ)
        except PackageUnavailable as error:
            allowed, problems = (), [error.message]
        for each in signed_off_states(allowed):
            if each.state == USABLE:
                packages.append(each.description.to_json())
            else:
                problems.append(each.detail)
    sys.stdout.write(json.dumps({"packages": packages, "problems": problems}) + "\n")


if __name__ == "__main__":
    main()
