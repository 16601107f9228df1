"""The models of cycles and memory, against values computed by hand from their sources.

A Mk2: sync 90 cycles; exchange 100 cycles and 4 bytes a cycle; 6 workers; 1.33 GHz.
"""

from __future__ import annotations

from typing import Callable, Dict

import pytest

# Program, case and output. Four numbers are cycles of sync, exchange, compute and host.
MODELS: Dict[str, str] = {
    # Vertices of 600 cycles on six workers, and 11 of the supervisor: up to six cost what one does.
    "workers": "611 611 1211 1811",
    # Tiles of 100 + 11 and 500 + 11: the slower counts. Balance (111 + 511) / (2 x 511).
    "slowest_tile": "511 111 511 0.608611",
    "estimate_of_an_ipu": "1",
    # 64 turns of two loads, a store and more; no more of the one type than of the other.
    "vectors_of_clang": "11",
    "local": "90 0 0 0",
    "exchange_in": "180 108 0 0",  # 100 + 8 x 4 / 4
    "exchange_out": "180 101 0 0",  # 100 + 4 / 4
    "exchange_from_many": "180 124 0 0",  # 100 + 3 x 8 x 4 / 4: one tile takes all in
    # Four tiles read 32 bytes: the same ones leave their tile once, others one after the other.
    "broadcast": "108 132",
    # A word from its tile to all: 100 + 4 / 4. A loop of one turn asks twice.
    "decision": "90 101 0 0 90 101 0 0 202",
    "copy_between_tiles": "90 164 0 0",  # 100 + 64 x 4 / 4
    # 587 + 256 x 0.4404 in one piece; in words 587 + 256 x 3.125; in halves 587 + 128 x 5.1484.
    "copy_within_a_tile": "90 0 700 0 1387 1246",
    # 587 cycles and the bytes of a tile that moves anything: 256 in one piece of 8-byte words, in
    # words, 128 in halves, 128 of a half; none where a field can point. 256 bytes of buffers.
    "rearrangement": "0 700 1387 1246 644 1387 1387 0 256 1387",
    "estimator_table": "816 25",  # 800 and 5 of the table's function, and 11
    "estimated": "1211 1",  # two of 600 and 11; one field less
    "host": "600 0 0 13467",  # (10 us + 4000 B / 32 GB/s) x 1.33 GHz
    # 100 + 4096 / 4; hops of 15 ns there and back: 1 of 2 IPUs, 2 of 4; 4096 bytes over 4 links of
    # a card, and 2 between cards, of 0.85 x 128 Gibit/s.
    "links": f"90 {100 + 1024 + 40 + 94} 0 0 90 {100 + 1024 + 80 + 187} 0 0",
    # Bundles of 6 cycles more than ONE_PTR: SHORT_SPAN and SCALED_PTR32 2, SCALED_PTR64 and 128 1;
    # of a list of 3 rows, 5 each.
    "unpacking": "12 12 6 6 90",
    # 90 + 164 as above, and the sync before the clock is read again; another one came first.
    "cycle_count": "344 270 164",
    # a and d are the host's; b and c pass by, both at once in the middle.
    "liveness": "16000 8000 4000b 8000cb 4000c da",
    "liveness_in_control_flow": "a  a",
    # 8 + 1 words in buffers; an instruction and its address for each piece that arrives.
    "messages": "36 8 8",
    "memory_shared": "fits graph_memory_allocation_error",
    "tile_sizes": "1216 262144 1600 1472 638976 1330 1472 638976 1850",
}


POPLIBS_COSTS: Dict[str, str] = {
    # 6 x (58 + 20 elements of a worker at the published cycles per vector) + 11: add 1/2,
    # divide 10/2, max 3/2, power 312, remainder 133/2; half multiply 1/4; int add 7, divide 277;
    # exp 6/2, sqrt 10/2, tanh 12/2, rsqrt 8/2, square 2/2, sin 2300.
    "elementwise": " ".join(
        str(6 * (58 + inner) + 11)
        for inner in (10, 100, 30, 6240, 1330, 5, 140, 5540, 60, 100, 120, 80, 20, 46000)
    ),
    # With a scalar 6 x (20 + inner) + 11, where division is 6/2; a cast 6 x (18 + inner) + 12.
    "elementwise_scalar": f"{6 * (20 + 10) + 11} {6 * (20 + 60) + 11} {6 * (18 + 5) + 12}",
    # Sigmoid and log 12/2, inverse 6/2, negate 2/2, abs 1, signum 5, relu 3/2, cos 2300, tan 5100;
    # subtract and multiply 1/2, min 3/2, comparisons 14/4.
    "elementwise_more": " ".join(
        str(6 * (58 + inner) + 11)
        for inner in (120, 120, 60, 20, 20, 100, 30, 46000, 102000, 10, 10, 30, 70)
    ),
    # float, of an odd number, half; 60 and 64 of 8 bits; 10 of 64 bits.
    "fill": f"{16 + 50 + 6} {16 + 50 + 6 + 1} {26 + 25} {28 + 15} {39 + 8} {5 + 10}",
    # 12 elements a row are 2 a worker, one vector of 2 cycles: two rows in a row, and three.
    "slices": f"{6 * (29 + 2 * (19 + 2))} {6 * (29 + 3 * (19 + 2))}",
    # In float, then in half: 48 elements a row are 8 a worker, 4 or 2 vectors of 2 cycles, of two
    # rows and of three; 16 rows of 24 or 12 vectors and 5 cycles each, by six workers; 64 products,
    # 16 or 64 a cycle; 64 numbers; a network of n log2(n)^2 / 4 comparisons at 14/4.
    "by_type": " ".join(
        f"{6 * (29 + 2 * (19 + move))} {6 * (29 + 3 * (19 + move))} {6 * (58 + rows) + 11} "
        f"{100 + products} {count} {6 * 58 + 11 + 16 * 4 * 4 // 4 * 14 // 4}"
        for move, rows, products, count in ((8, 78, 4, 16 + 32 + 6), (4, 46, 1, 26 + 16))
    ),
    # 8 rows of 8 vectors and 5 cycles each, shared by six workers.
    "reduction": f"{6 * (58 + 18) + 11}",
    # In 8 rows of 15, a worker's 20 elements are two runs of at most 3 + 8 vectors, and each run
    # takes 2 to begin its loop and 5 for a row of each list: two lists, or with a scalar one. 480
    # bytes that lie the other way round are brought together word by word first.
    "pieces": f"{6 * (58 + 10) + 11} {6 * (58 + 11 + 2 * (2 + 10)) + 11} "
    f"{6 * (20 + 11 + 2 * (2 + 5)) + 11} {587 + 1500 + 6 * (58 + 10) + 11} "
    f"{22 + 8 * (7 + 1) + 7 * 7} {22 + 60 * 1 + 59 * 7}",
}


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("program", "case", "expected"),
    [("models", *one) for one in MODELS.items()]
    + [("poplibs_costs", *one) for one in POPLIBS_COSTS.items()],
)
def test_costs_match_values_computed_by_hand(
    run_program: Callable, program: str, case: str, expected: str
) -> None:
    done = run_program(program, case)
    name, _, values = done.stdout.rstrip("\n").partition(": ")
    assert (name, values.rstrip()) == (case, expected), done.stderr


def test_a_profile_stays_small_however_long_the_program_runs(run_program: Callable) -> None:
    """1,472 tiles, 3,000 different steps, three runs of 13,000 steps each."""
    values = run_program("models", "size_of_a_profile").stdout.split()[1:]
    size, runs, steps, truncated, liveness, executions = map(int, values)
    assert size < 5_000_000
    assert (runs, steps, truncated) == (2, 5000, 1)
    assert 500 < liveness <= 1000
    assert executions == 3 * 13000  # the totals have them all
