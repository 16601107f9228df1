"""The programs of examples/poplar and the recurrent loop, against NumPy."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Callable, Dict, List, Tuple

import numpy as np
import pytest

from tests.emulator.compiled import compile_program

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "poplar"


def run_example(name: str, environment: Dict[str, str], *arguments: str) -> str:
    binary = compile_program(EXAMPLES / f"{name}.cpp")
    done = subprocess.run(
        [str(binary), *arguments],
        cwd=EXAMPLES,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_leaky_neurons_spike_by_the_equations(environment: Dict[str, str]) -> None:
    output = run_example("leaky_neurons", environment)
    membrane = np.zeros(128, np.float32)
    current = (np.arange(128) / 64).astype(np.float32)
    expected: List[int] = []
    for _ in range(10):
        membrane = np.float32(0.5) * membrane + np.float32(0.5) * current
        fires = membrane > 1
        membrane[fires] = 0
        expected.append(int(fires.sum()))
    counts = output.splitlines()[0].split(":")[1].split()
    assert [int(n) for n in counts] == expected
    assert len(set(expected)) > 2


def test_an_executable_runs_from_its_file(tmp_path: Path, environment: Dict[str, str]) -> None:
    path = tmp_path / "program.exe"
    output = run_example("save_and_load", environment, str(path))
    assert output == "1 2\n"  # 16 and 64, halved five times, and never below 1
    assert path.stat().st_size > 0


def test_variables_constants_and_views(environment: Dict[str, str]) -> None:
    lines = run_example("variables", environment).splitlines()
    output = dict(line.split(": ") for line in lines)
    assert output["decays at first"] == " ".join(["0.25"] * 8)
    assert output["decays then"] == " ".join(map(str, range(8)))
    thresholds = np.ones((3, 8))
    thresholds[2].reshape(2, 4)[:, [0, 3]] = np.array([[0.5, 1.0], [1.5, 2.0]]).T
    np.testing.assert_array_equal(np.array(output["thresholds"].split(), float), thresholds.ravel())
    assert output["tiles with thresholds"] == "3"


def test_a_matrix_vector_product_by_hand_and_by_poplin(environment: Dict[str, str]) -> None:
    output = run_example("matrix_vector", environment)
    assert output.splitlines() == [
        f"{who} agrees with the host's sum" for who in ("own", "library")
    ]


def test_streams_continue_across_runs(environment: Dict[str, str]) -> None:
    output = run_example("streams", environment)
    totals = [2 * sum(range(4)), 2 * sum(range(8))]
    assert output.splitlines() == [f"total: {total}" for total in totals]


def test_engine_options_write_reports_and_allow_out_of_memory(
    tmp_path: Path, environment: Dict[str, str]
) -> None:
    kept = tmp_path / "kept"
    output = run_example("engine_options", environment, str(kept))
    assert "does not fit: " in output
    assert "tile 0" in output
    assert "membranes" in output
    assert "no such option: " in output
    assert "reports.everything" in output
    assert output.count("Number of vertices:") == 2  # the small one, and what was allowed
    profile = json.loads((kept / "profile.json").read_text("utf-8"))
    assert profile["compilation"]["target"]["numTiles"] == 2


@pytest.mark.sample(2)
@pytest.mark.parametrize("arguments", [(), ("reverse",), ("2",), ("reverse", "2"), ("1", "2")])
def test_the_recurrent_loop_slices_and_stores_every_step(
    run_program: Callable, arguments: Tuple[str, ...]
) -> None:
    lines = run_program("rnn", *arguments).stdout.splitlines()
    output, states, last = (np.array(line.split(), float) for line in lines)
    inputs = np.arange(18.0).reshape(3, 6)
    if arguments == ("1", "2"):  # steps of the two samples, of 3 inputs each
        inputs[1, :3] = 0
    order = list(range(2 if "2" in arguments else 3))
    if "reverse" in arguments:
        order.reverse()
    state = np.array([100.0, 0, 0, 0, 0, 0])
    expected = np.zeros((3, 6))
    for t in order:  # what is beyond stays 0
        state = state + inputs[t]
        expected[t] = state
    np.testing.assert_array_equal(states.reshape(3, 6), expected)
    np.testing.assert_array_equal(output.reshape(3, 6), expected * np.arange(3)[:, None])
    np.testing.assert_array_equal(last, state)


@pytest.mark.sample(1)
@pytest.mark.parametrize(("steps", "asked"), [(1, [1]), (2, [2, 1]), (5, [5]), (9, [5])])
def test_the_recurrent_loop_gathers_several_steps(
    run_program: Callable, steps: int, asked: List[int]
) -> None:
    lines = run_program("rnn_gather", str(steps)).stdout.splitlines()
    weights, last, total, lengths = (np.array(line.split(), float) for line in lines)
    activity = np.arange(30.0).reshape(5, 2, 3) + 1
    gradient, kept = (np.arange(40.0).reshape(5, 2, 4) + first for first in (-10, 2))
    carried = np.cumsum(gradient[::-1], axis=0)[::-1]  # from the last step on
    expected = np.einsum("tbi,tbo->io", activity, carried * kept)
    np.testing.assert_array_equal(weights.reshape(3, 4), expected)
    np.testing.assert_array_equal(last.reshape(2, 4), carried[0])
    np.testing.assert_array_equal(total.reshape(2, 4), kept.sum(0))
    np.testing.assert_array_equal(lengths, asked)


@pytest.mark.verify
@pytest.mark.timeout(900)  # the first of them builds the emulator once more
@pytest.mark.parametrize("name", ["engine", "popops", "runs"])
def test_sanitizers_report_nothing(run_program: Callable, name: str) -> None:
    """AddressSanitizer, with leak detection, and UndefinedBehaviorSanitizer run every case."""
    done = run_program(name, sanitized=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout
