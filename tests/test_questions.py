"""Each program of examples/questions shows what the pages on IPUs say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from benchmarks.emulator import questions
from benchmarks.emulator.question_tables import crossing, series
from ipulse_core.build_cache.toolchain import compiler
from poplar_emulator.build import build, program_flags
from poplar_emulator.emulate import environment_of
from tests.question_claims import (
    CLAIMS,
    Cases,
)

pytestmark = pytest.mark.verify  # a minute of compilation

TILES = 176  # of an emulated IPU in the test
# Sizes for the test, small; the page's are the programs' defaults.
SMALL = {
    "activity": "inputs=256 samples=6 slots=64 every=6",
    "allocation": "tiles=8 inputs=64 most=10",
    "exchange": "most=1024",
    "host_copies": "most=1024",
    "in_place": "tiles=4 most=12",
    "index_types": "ids=50",
    "layers": "tiles=4 most=2",
    "loops": "neurons=2",
    "multi_vertices": "neurons=12 inputs=32 spikes=4",
    "one_input": "spikes=64 most=2",
    "read_add_write": "ids=50",
    "send_or_not": "tiles=8 most=256",
    "several_ipus": "most=64 neurons=100",
    "shuffle": "most=64",
    "slices": "steps=10 neurons=256",
    "step": "inputs=64 neurons=64 samples=6 slots=4 most=16",
    "tiles": "words=256 neurons=128",
    "weight_gradient": "samples=12 slots=24 inputs=240 most=2",
    "workers": "inputs=32 spikes=8 most=12",
}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Cases]:
    """Every program's cases at small sizes. They are compiled as one, which reads headers once."""
    place = tmp_path_factory.mktemp("questions")
    text = {name: (questions.FOLDER / f"{name}.cpp").read_text() for name in questions.programs()}
    headers = sorted(set(re.findall(r"#include <.*>", "\n".join(text.values()))))
    lines = [*headers, '#include "question.h"']
    for name, program in text.items():
        lines += [f"namespace {name} {{", program.replace("int main(", "void run("), "}"]
    lines.append("int main(int argc, char **argv) {\nconst std::string name = argv[1];")
    lines += [f'if (name == "{name}") {name}::run(argc - 1, argv + 1);' for name in text]
    (place / "all.cpp").write_text("\n".join([*lines, "}"]))
    flags = ["-O0", "-Wall", "-Wextra", "-Werror", f"-I{questions.FOLDER}"]
    command = [*compiler(), *flags, str(place / "all.cpp"), "-o", str(place / "all")]
    subprocess.run([*command, *program_flags(build())], check=True)
    environment = environment_of([str(questions.FOLDER / "codelets.cpp")], place)

    def run(name: str) -> Cases:
        done = subprocess.run(
            [str(place / "all"), name, f"tilesPerIPU={TILES}", *SMALL[name].split()],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return questions.cases(done.stdout)

    first, *rest = text  # the first one compiles the codelets
    results = {first: run(first)}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results.update(zip(rest, pool.map(run, rest), strict=True))
    return results


@pytest.mark.parametrize("name", questions.programs())
def test_a_program_gives_the_values_of_the_page(name: str, small: dict[str, Cases]) -> None:
    CLAIMS[name](small[name])


def test_ids_cost_more_exchange_than_a_mask_from_the_computed_activity(
    small: dict[str, Cases],
) -> None:
    """An id takes 16 or 32 bits, and a neuron of the mask one."""
    for ids, bits in (("16-bit ids", 16), ("32-bit ids", 32)):
        at = crossing(small["activity"], ids, "bit mask", "exchange")
        assert at is not None
        assert at / 256 == pytest.approx(1 / bits, rel=0.3)


def test_the_device_counter_adds_one_sync(small: dict[str, Cases]) -> None:
    """With DEVICE_COUNTER a program prints the tile's own counter."""
    source = questions.FOLDER / "one_input.cpp"
    command = [sys.executable, "-m", "ipulse", "emulate", str(source), "--no-profile"]
    done = subprocess.run(
        [*command, "--flag=-DDEVICE_COUNTER", "--", "most=1", "spikes=64"],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    heads, *lines = (line.split("  ") for line in done.stdout.splitlines())
    assert heads[0] == "case"
    assert int(lines[0][-1]) == series(small["one_input"], "the same input")[1]["cycles"] + 90
