"""Each distribution builds, passes `twine check`, and works alone in a fresh environment."""

from __future__ import annotations

import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from ipulse.spec.document.example import EXAMPLES

from .conftest import PACKAGES, ROOT, Environment, run

# A network that learns in seconds, over HTTP, on the whole stack.
SPEC = """\
version: 1
name: wheel
data: {kind: digits, samples: 300}
network: {layers: [{neurons: 32}]}
training: {epochs: 2}
"""

# A network on emulated tiles.
ON_TILES = """\
from ipulse_ops.lif.network import LIF, LeakyReadout, Network
from ipulse_ops.lif.poplar.arrays import PoplarLIF
from ipulse_ops.lif.poplar.build import build
with PoplarLIF(Network(4, (LIF(4),), LeakyReadout(2)), 2, 1, 4, tiles_per_ipu=4) as op:
    op.op.profile()
print(build().library)
"""

pytestmark = [pytest.mark.wheels, pytest.mark.timeout(900)]


def test_archives_are_complete(dist: Path) -> None:
    archives = sorted(dist.iterdir())
    assert len(archives) == 2 * len(PACKAGES)
    run(sys.executable, "-m", "twine", "check", "--strict", *archives)


@pytest.mark.parametrize("package", PACKAGES.values())
def test_a_wheel_installs_one_package_and_nothing_else(package: str, dist: Path) -> None:
    (wheel,) = dist.glob(f"{package}-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.partition("/")[0] for name in names}
    stand_in = {"pva"} if package == "poplar_emulator" else set()  # for the SDK's module
    assert {t for t in tops if not t.endswith((".dist-info", ".libs", ".pth"))} == {
        package,
        *stand_in,
    }
    assert not [name for name in names if name.endswith((".pyc", ".o"))]


@pytest.mark.parametrize(
    ("package", "file"),
    [
        ("ipulse_ops", "ipulse_ops/lif/cpu/shipped/liblif.so"),
        ("ipulse_ops", "ipulse_ops/lif/poplar/shipped/libipulse_lif_5.so"),
        ("poplar_emulator", "poplar_emulator/shipped/lib/libpoplar.so"),
        ("ipulse_worker", "ipulse_worker/runner/report/templates/page.html"),
        *(("ipulse", f"ipulse/examples/{name}.yaml") for name in EXAMPLES),
    ],
)
def test_a_wheel_contains_more_than_python(package: str, file: str, dist: Path) -> None:
    (wheel,) = dist.glob(f"{package}-*.whl")
    assert file in zipfile.ZipFile(wheel).namelist()


def test_the_ops_train_in_plain_keras(environment: Environment) -> None:
    environment.install("ipulse-ops", "scikit-learn")
    example = shutil.copy(ROOT / "examples" / "keras_alone.py", environment.folder)
    assert "accuracy" in environment.python(example)
    assert not any(map(environment.has, ("fastapi", "pydantic", "celery", "ipulse")))


def test_the_op_of_the_wheel_runs_on_the_emulator_of_the_wheel(environment: Environment) -> None:
    environment.install("ipulse-ops[emulator]")
    output = environment.python("-c", ON_TILES)
    assert "/ipulse_ops/lif/poplar/shipped/" in output
    assert "building" not in output  # both wheels contain what is compiled


def test_the_emulator_runs_a_poplar_program(environment: Environment) -> None:
    environment.install("poplar-emulator")
    for name in ("matrix_vector.cpp", "leaky_codelets.cpp"):
        shutil.copy(ROOT / "examples" / "poplar" / name, environment.folder)
    files = ("matrix_vector.cpp", "--codelets", "leaky_codelets.cpp")
    output = environment.run(environment.bin / "poplar-emulator", *files)
    assert "Total cycles:" in output
    assert "building the emulator" not in output  # the wheel contains it
    environment.run(environment.bin / "popc", "--check", "leaky_codelets.cpp")
    (environment.folder / "Makefile").write_text(
        "matrix_vector: matrix_vector.cpp\n"
        "\tg++ -std=c++17 $^ -lpopops -lpoplin -lpoputil -lpoplar -o $@\n"
    )
    enable = '. "$(poplar-emulator --prefix)/enable.sh" && make && ./matrix_vector'
    environment.run("bash", "-c", enable)
    code = "import pva, poplar_emulator; print(pva.openReport.__name__)"
    assert environment.python("-c", code).strip() == "open_report"
    assert not any(map(environment.has, ("tensorflow", "fastapi", "ipulse", "ipulse_ops")))


def test_the_client_comes_without_the_service(environment: Environment) -> None:
    environment.install("ipulse[cli]")
    (environment.folder / "spec.yaml").write_text(SPEC)
    environment.run(environment.bin / "ipulse", "validate", "spec.yaml")
    assert not any(map(environment.has, ("fastapi", "tensorflow", "celery", "sqlalchemy")))


def test_the_whole_stack_runs_the_demo(environment: Environment) -> None:
    environment.install("ipulse[all]")
    (environment.folder / "spec.yaml").write_text(SPEC)
    environment.run(environment.bin / "ipulse", "demo", "--spec", "spec.yaml", "--to", "out")
    assert list((environment.folder / "out").rglob("report.html"))
