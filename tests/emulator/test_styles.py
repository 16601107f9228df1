"""Programs written the way programs for the device are, unmodified for the emulator.

Their sources use the API as public programs do: many spellings of the same thing, every kind of
vertex and layout, PopLibs beyond element-wise operations, both sides of the host.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Callable, Dict, List

import numpy as np
import pytest

from ipulse_ops.lif.cpu.native import compiler
from poplar_emulator.build import program_flags
from poplar_emulator.custom_op import CustomOp
from tests.emulator.compiled import PROGRAMS, prefix_of


def values(line: str) -> List[float]:
    return [
        float(word) for word in line.replace("{", " ").replace("}", " ").replace(",", " ").split()
    ]


def printed(output: str) -> Dict[str, List[List[float]]]:
    """Return the output of PrintTensor by title, in order."""
    printed_values: Dict[str, List[List[float]]] = {}
    for line in output.splitlines():
        title, colon, rest = line.partition(": ")
        if colon:
            printed_values.setdefault(title, []).append(values(rest))
    return printed_values


def test_first_steps(run_program: Callable) -> None:
    done = run_program("first_steps")
    assert done.returncode == 0, done.stderr
    tensors = printed(done.stdout)
    assert tensors["v1-debug"][0] == [1, 1.5, 2, 2.5]
    assert tensors["v2"][0] == [7, 6, 4.5, 2.5]
    # A stream's buffer is three copies long and is read in a circle.
    assert [first for first, *_ in tensors["v4-0"] + tensors["v4-1"]] == [0, 20, 10, 0]
    lines = done.stdout.splitlines()
    at = lines.index("0 1 1.5 2 ")
    assert lines[at - 1 : at + 3] == ["0 0 0 0 ", "0 1 1.5 2 ", "0 0 0 0 ", "0 0 0 0 "]
    assert "cycles>0 1" in lines


def test_vertices_of_every_style(run_program: Callable) -> None:
    done = run_program("styles")
    assert done.returncode == 0, done.stderr
    tensors = printed(done.stdout)
    ramp = np.arange(1.0, 9)
    expected = [3 * ramp + 1, 2.5 * ramp + 1, 3 * ramp + 1]  # float, half, int
    np.testing.assert_array_equal(tensors["axpy"], expected)
    assert tensors["relu"] == [[0, 2, 0, 101]] * 2
    assert tensors["vaxpy"] == [[10, 12, 14, 16, 18, 20]]
    assert tensors["halfvec"] == [[1, 0.75, 0.5, 0.25, 0, 0, 0, 0]]
    assert tensors["split"] == [[3] * 13]
    assert tensors["super"] == [[9]]
    assert tensors["poly"] == [[11, 11, 11, 13, 13, 13]]
    assert tensors["lists"] == [[2.75, 0, 14], [5.5, 0, 28]]
    assert tensors["pairs"] == [[1.5, 7, 6, 14]]
    assert tensors["bits"] == [[0x60 ^ 0x80]]
    assert tensors["any"] == [[1]]
    assert tensors["bytes"] == [[7, 7, 7]]
    # Six workers' numbers; one seed draws the same twice; what was put into two registers.
    assert tensors["registers"] == [[0, 1, 2, 3, 4, 5, 1, 9, 5]]
    (hits,) = tensors["hits"][0]
    assert abs(hits / 10000 - np.pi / 4) < 5 * (np.pi / 4 * (1 - np.pi / 4) / 10000) ** 0.5
    cycles, tile = tensors["t"][0]
    assert cycles > 6 * 10 * 3  # ten exponentials of at least 3 bundles
    assert tile == 9
    assert done.stdout.startswith("tile 9\n")  # of the codelet's printf
    assert tensors["ok"] == [[0]]  # one compute() returned false


def test_operations_of_poplibs(run_program: Callable) -> None:
    done = run_program("poplibs")
    assert done.returncode == 0, done.stderr
    shapes = ["{2,1,3}", "{2,3}", "1", "{3,2,2,2}{6,4}"]
    assert done.stdout.splitlines()[:5] == [*shapes, "33131111"]
    tensors = {title: np.array(rows[0]) for title, rows in printed(done.stdout).items()}
    a = np.array([[4, -3, 2, 1], [0, 5, -6, 7.0]])
    order = np.array([3, 0, 1, 2])
    table = np.arange(15.0).reshape(5, 3)
    after = table.copy()
    after[[4, 1]] += 10 * table[[4, 1]]
    e = np.exp(a - a.max(1, keepdims=True))
    softmax = e / e.sum(1, keepdims=True)
    relu = np.maximum(a, 0)
    expected = {
        "sorted": np.sort(a, 1),
        "sorted0": np.sort(a, 0),
        "byKey": order[np.argsort(a[0], kind="stable")],
        "argmax": a.argmax(1),
        "argmin": a.argmin(1),
        "kv": order[np.argsort(-a[1], kind="stable")[:2]],
        "ms": table[[4, 1]],
        "table": after,
        "gather": a[:, order[:3]],
        "hot": np.eye(4)[order],
        "pad": np.pad(a, ((0, 1), (1, 0)), constant_values=9),
        "reflect": np.pad(a[0], (2, 1), mode="reflect"),
        "softmax": softmax,
        "relu": relu,
        "relugrad": relu,
        "alltrue": [1],
        "nan": [0],
        "select": np.where(a > 1, a, 0),
        "clamp": a.clip(-1, 1),
        "added": relu + a,
        "reduce": a.max(1),
        "reduceScaled": 10 * a.sum(0),
        "C": np.full((2, 3), 36),
        "G": np.full((2, 3), 24),
        "acc": [3],
        "acc2": [9],
        "differ": [1],
        "far": a,
        "fn": a * a,
        "gcl": a[0],
        "loss": -np.log(softmax[[0, 1], [0, 1]]),
        "good": [1],
    }
    for title, array in expected.items():
        np.testing.assert_allclose(tensors[title], np.ravel(array), rtol=2e-5, err_msg=title)
    # Sums of 1000 draws, within five standard deviations.
    assert abs(tensors["uni"][0] - 500) < 5 * (1000 / 12) ** 0.5
    assert abs(tensors["tn"][0] - 5000) < 5 * 1000**0.5
    assert abs(tensors["drop"][0] - 1000) < 5 * 1000**0.5


def test_host_programs(run_program: Callable) -> None:
    done = run_program("host_side")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[1] == "29441472 6638976 64242 ipu21"
    # 1 to 8 doubled three times, then until the first is at least 100, then by the switch; the
    # second half is a copy of the first.
    assert values(lines[2]) == [256, 512, 768, 1024] * 2
    assert lines[3:] == ["64", "got 1", "got 2", "control_program_error"]
    assert "Target:" in done.stderr


@pytest.fixture(scope="module")
def lines(run_program: Callable) -> Dict[str, List[float]]:
    """Return the output of each case of programs/academic.cpp."""
    done = run_program("academic")
    assert done.returncode == 0, done.stderr
    names = ["circle", "events", "events of half", "product", "search", "sorting", "stencil"]
    printed_values = [values(line) for line in done.stdout.splitlines()]
    assert len(printed_values) == len(names)
    return dict(zip(names, printed_values))


class TestResearchPrograms:
    @pytest.mark.verify
    def test_a_stencil_exchanges_its_halos(self, lines: Dict[str, List[float]]) -> None:
        grid = np.zeros((18, 7), np.float32)
        grid[0, 1:-1] = 1
        for _ in range(40):
            grid[1:-1, 1:-1] = 0.25 * (
                grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:]
            )
        np.testing.assert_allclose(lines["stencil"], grid[1:-1, 1:-1].ravel(), rtol=1e-4, atol=1e-7)

    @pytest.mark.verify
    def test_a_search_stops_when_no_tile_changes_anything(
        self, lines: Dict[str, List[float]]
    ) -> None:
        distance = [0 if n == 5 else 99 for n in range(24)]
        for _ in range(24):
            for n in range(24):
                sources = [(n + 23) % 24] + ([(n + 9) % 24] if n % 4 == 0 else [])
                distance[n] = min([distance[n]] + [distance[s] + 1 for s in sources])
        assert lines["search"] == distance

    def test_events_pick_rows(self, lines: Dict[str, List[float]]) -> None:
        weights = np.arange(24.0).reshape(4, 6)
        expected = list(0.5 * 8 + weights[:, 5] + weights[:, 2])
        assert lines["events"] == lines["events of half"] == expected

    def test_remaining_cases(self, lines: Dict[str, List[float]]) -> None:
        assert lines["sorting"] == sorted([9, -3, 7, 0, 5, 5, -8, 2, 1])
        matrix = np.arange(48.0).reshape(3, 16)
        assert lines["product"] == list(matrix @ matrix[0])
        n, p = 50 * 400, np.pi / 4
        assert abs(lines["circle"][0] / n - p) < 5 * (p * (1 - p) / n) ** 0.5


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_an_op_of_tensorflow(dtype: str, tmp_path: Path) -> None:
    """The op is compiled as in its documentation and called by its C symbols."""
    library = tmp_path / "librotate.so"
    flags = ("-shared", "-fPIC", "-O0", "-Wall", "-Wextra", "-Werror")
    source = str(PROGRAMS / "rotate_op.cpp")
    built = program_flags(prefix_of(False))
    subprocess.run([*compiler(), *flags, source, "-o", str(library), *built], check=True)
    random = np.random.RandomState(7)
    n = 100
    x, y, angle, more = (random.randn(n).astype(dtype) for _ in range(4))
    with CustomOp(
        library,
        str(PROGRAMS / "rotate_codelet.cpp"),
        inputs=[(dtype, (n,))] * 4,
        outputs=[(dtype, (n,))] * 2,
        inputs_with_gradients=[0],
        tiles_per_ipu=16,
    ) as op:
        u, v = op.forward([x, y, angle, more])
        (gradient,) = op.backward([x, y])
    x, y, angle, more = (a.astype(np.float64) for a in (x, y, angle, more))
    tolerance = 1e-5 if dtype == "float32" else 1e-2
    np.testing.assert_allclose(
        u, x * np.cos(angle) - y * np.sin(angle) + more, rtol=tolerance, atol=tolerance
    )
    np.testing.assert_allclose(
        v, x * np.sin(angle) + y * np.cos(angle), rtol=tolerance, atol=tolerance
    )
    np.testing.assert_array_equal(gradient, -x)
