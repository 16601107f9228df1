"""Each program of examples/questions shows what the pages on IPUs say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from benchmarks.common.tables import Row
from benchmarks.emulator import questions
from benchmarks.emulator.question_tables import crossing, names, series
from ipulse_core.build_cache.toolchain import compiler
from poplar_emulator.build import build, program_flags
from poplar_emulator.emulate import environment_of

Cases = list[Row]

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


def figures(cases: Cases, name: str, figure: str) -> list[int]:
    """Return a figure of one case, by rising size."""
    return [row[figure] for _, row in sorted(series(cases, name).items())]


def activity(cases: Cases) -> None:
    ids, mask = (figures(cases, name, "exchange") for name in ("16-bit ids", "bit mask"))
    assert len(set(mask)) == 1
    assert ids[0] < mask[0] < ids[-1]
    assert figures(cases, "32-bit ids", "exchange")[0] > ids[0]
    assert len(set(figures(cases, "16-bit ids, all slots sent", "exchange"))) == 1
    summed, dense = (figures(cases, name, "compute") for name in ("16-bit ids", "dense"))
    assert summed == sorted(set(summed))
    assert len(set(dense)) == 1
    assert summed[0] < dense[0]
    decoded = figures(cases, "bit mask", "compute")
    assert all(one > other for one, other in zip(decoded, summed, strict=True))


def allocation(cases: Cases) -> None:
    own, linear, copied = (figures(cases, name, "cycles") for name in names(cases))
    assert all(one < other for one, other in zip(own, linear, strict=True))
    assert own[-1] < copied[-1] < linear[-1]
    assert copied[0] > linear[0]  # one step does not pay for the copy


def exchange(cases: Cases) -> None:
    there, both, then = (figures(cases, name, "cycles") for name in names(cases))
    assert both == there
    assert then == [2 * one for one in there]
    assert there[1] < 1.1 * there[0]  # four times the bytes
    assert there[-1] > 2 * there[0]


def host_copies(cases: Cases) -> None:
    one, several = (figures(cases, name, "cycles")[0] for name in names(cases))
    assert several > 10 * one


def in_place(cases: Cases) -> None:
    tensor, elsewhere, number = (figures(cases, name, "cycles") for name in names(cases))
    assert tensor[0] == tensor[1] > 0  # one element costs what twelve cost
    assert number[0] < tensor[0] < elsewhere[0]


def index_types(cases: Cases) -> None:
    short, unsigned, whole, _ = (figures(cases, name, "compute") for name in names(cases))
    assert short == unsigned == whole


def layers(cases: Cases) -> None:
    each, joint, one, slices, slice_of_all, reductions, many = (
        figures(cases, name, "cycles") for name in names(cases)
    )
    assert joint[-1] == one[-1] == joint[0]
    assert each[-1] == 2 ** (len(each) - 1) * joint[-1]
    assert slices[-1] > 1.5 * slice_of_all[-1]
    assert reductions[-1] > 1.5 * many[-1]


def loops(cases: Cases) -> None:
    repeat, listed, copied = (figures(cases, name, "control code") for name in names(cases))
    assert repeat[0] == repeat[-1] < listed[-1] == copied[-1]
    states = [figures(cases, name, "state") for name in names(cases)]
    assert states[0][-1] == states[1][-1] < states[2][-1]


def multi_vertices(cases: Cases) -> None:
    shared, plain = (figures(cases, name, "compute") for name in names(cases))
    assert shared == sorted(set(shared))
    assert plain[0] > shared[0]
    assert shared[-1] > plain[-1]


def one_input(cases: Cases) -> None:
    same, each = (figures(cases, name, "exchange") for name in names(cases))
    assert len(set(same)) == 1
    assert each == sorted(set(each))
    assert len(set(figures(cases, "the same input", "message"))) == 1


def read_add_write(cases: Cases) -> None:
    words, pairs = (figures(cases, name, "compute") for name in names(cases))
    # Twice the elements for hardly more.
    assert pairs[1] - pairs[0] < 1.5 * (words[1] - words[0])


def send_or_not(cases: Cases) -> None:
    always, spikes, none = (figures(cases, name, "cycles") for name in names(cases))
    assert all(one > other for one, other in zip(spikes, always, strict=True))
    assert len(set(none)) == 1
    assert none[-1] < always[-1]


def several_ipus(cases: Cases) -> None:
    near, beside, far = (figures(cases, name, "exchange")[0] for name in names(cases)[:3])
    assert near < beside <= far
    compute, send, both = (figures(cases, name, "cycles")[0] for name in names(cases)[3:])
    assert both == compute + send


def shuffle(cases: Cases) -> None:
    keys, start = (figures(cases, name, "cycles")[0] for name in names(cases))
    assert keys > 2 * start


def slices(cases: Cases) -> None:
    view, copied, dynamic, linear = (figures(cases, name, "cycles")[0] for name in names(cases))
    assert view < copied
    assert view < dynamic < linear


def step(cases: Cases) -> None:
    compute, moved = (figures(cases, names(cases)[0], what) for what in ("compute", "exchange"))
    assert compute == sorted(set(compute), reverse=True)
    assert len(set(moved)) == 1
    assert compute[-1] > moved[-1]


def tiles(cases: Cases) -> None:
    gather, scatter, spread, apart, _ = (figures(cases, name, "exchange") for name in names(cases))
    assert len({*gather, *scatter, *spread}) == 1
    assert apart == sorted(set(apart), reverse=True)
    at_home, elsewhere = (row["compute"] for row in cases[-2:])
    assert at_home > elsewhere == 0


def weight_gradient(cases: Cases) -> None:
    one, copies, rows, located, sets = (figures(cases, name, "cycles")[0] for name in names(cases))
    assert located < rows < one
    assert located < sets
    assert located < 1.3 * copies
    assert (
        figures(cases, names(cases)[1], "variable")[0]
        > 3 * figures(cases, names(cases)[3], "variable")[0]
    )


def workers(cases: Cases) -> None:
    for name in names(cases):
        one, six, seven, twelve, *_ = figures(cases, name, "compute")
        assert one == six < seven == twelve
    neuron, worker, shared = (figures(cases, name, "state") for name in names(cases))
    assert shared[-1] < worker[-1] < neuron[-1]


CLAIMS: dict[str, Callable[[Cases], None]] = {
    claim.__name__: claim
    for claim in (
        *(activity, allocation, exchange, host_copies, in_place, index_types, layers, loops),
        *(multi_vertices, one_input, read_add_write, send_or_not, several_ipus, shuffle, slices),
        *(step, tiles, weight_gradient, workers),
    )
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


@pytest.mark.parametrize("name", questions.programs())
def test_every_program_has_a_table_on_one_page(name: str, small: dict[str, Cases]) -> None:
    text = questions.block(name, small[name], "a commit")
    pages = [path.read_text("utf-8") for path in questions.PAGES.glob("ipu_*.md")]
    changed = [page for page in pages if text in questions.replaced(page, name, text)]
    assert len(changed) == 1
    assert f"examples/questions/{name}.cpp" in changed[0]


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


def test_a_check_finds_other_figures_and_ignores_the_commit(small: dict[str, Cases]) -> None:
    cases = small["shuffle"]
    page = f"before\n\n{questions.block('shuffle', cases, 'one commit')}\n\nafter"
    assert not questions.is_stale(page, "shuffle", questions.block("shuffle", cases, "another"))
    assert not questions.is_stale(page, "slices", questions.block("slices", small["slices"], "it"))
    other = [{**row, **{name: 1 for name in row if name == "cycles"}} for row in cases]
    assert other != cases
    assert questions.is_stale(page, "shuffle", questions.block("shuffle", other, "one commit"))
