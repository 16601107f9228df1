"""Claims of the pages on IPUs about the figures of each program of examples/questions."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.common.tables import Row
from benchmarks.emulator.question_tables import names, series

Cases = list[Row]


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
