"""Both images are built without a Docker engine, and the examples go through what was built."""

from __future__ import annotations

import os
import shutil
import tomllib
from pathlib import Path

import pytest

from ipulse.spec import parse_spec
from ipulse.spec.data.recordings import Recording
from tests.container.images import emulator, examples
from tests.container.images.__main__ import PROGRAMS, main
from tests.container.images.examples import EXAMPLES


@pytest.mark.verify
@pytest.mark.timeout(7200)  # beside the other parts of `make verify`
def test_examples_have_the_checkouts_bits_in_images_that_were_just_built() -> None:
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing or os.geteuid() != 0:
        pytest.skip(f"needs root, and {', '.join(missing) or 'nothing else'} is missing")
    assert main([]) == 0


@pytest.mark.verify
@pytest.mark.timeout(3600)
def test_the_emulators_image_checks_and_runs_poplar_code() -> None:
    missing = [program for program in emulator.PROGRAMS if shutil.which(program) is None]
    if missing or os.geteuid() != 0:
        pytest.skip(f"needs root, and {', '.join(missing) or 'nothing else'} is missing")
    assert emulator.main() == 0


def test_every_example_is_put_through_or_excluded(tmp_path: Path) -> None:
    """Other files belong to a program or an op beside them, which includes or names them."""
    run = {job.name for job in examples.jobs(tmp_path)}
    for path in EXAMPLES.rglob("*"):
        name = path.relative_to(EXAMPLES).as_posix()
        if path.is_dir() or "__pycache__" in path.parts or examples.is_excluded(name):
            continue
        covered = {name, str(Path(name).parent)} & {*run, *examples.scripts()}
        beside = [each for each in path.parent.iterdir() if each.is_file() and each != path]
        assert covered or any(path.name in each.read_text("utf-8") for each in beside), name


def test_recordings_are_excluded_and_must_be_downloaded() -> None:
    for name in examples.specs():
        document = examples.document(name)
        if "data" in document:
            data = parse_spec(document).data
            # Nothing writes them, and no user uploads them: the worker has them, or the job waits.
            asks = isinstance(data, Recording) and data.dataset is None
            assert asks is examples.is_excluded(name), name


def test_the_excluded_package_needs_an_installer_which_the_image_leaves_behind() -> None:
    project = tomllib.loads((EXAMPLES / "neuron_package" / "pyproject.toml").read_text("utf-8"))
    assert "ipulse.neurons" in project["project"]["entry-points"]
    assert not list((EXAMPLES / "neuron_package").rglob("*.yaml"))


def test_nothing_else_is_excluded() -> None:
    assert {"shd.yaml", "neuron_package"} == set(examples.EXCLUDED)
