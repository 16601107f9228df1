"""The bundles of the web page are those that its lock file makes."""

from __future__ import annotations

import os

import pytest

from tests.acceptance.locked_tools import ROOT, run

from .generators import Generators

pytestmark = [pytest.mark.generated_clients, pytest.mark.verify, pytest.mark.timeout(600)]


def test_every_vendored_file_is_made_from_the_lock() -> None:
    generators = Generators()
    generators.install()
    path = os.pathsep.join([str(generators.bin), os.environ["PATH"]])
    run(ROOT / "scripts" / "vendor", "--check", environment={"PATH": path}, folder=ROOT)
