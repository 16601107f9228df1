"""Programs that an IPU would refuse, or whose result would depend on chance, under --sanitize.

Each is refused with the class of its error and its place: vertex, tile and compute set, or field.
What is not found is listed in docs/reference/poplar_rules.md.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Tuple

import pytest

_RUN = "application_runtime_error"
_PLACE = "on tile 1 in compute set 'layer/step' "
_OUT = "of field 'out'"
# Of each case of programs/breaches.cpp: the error's class, and words of its message.
CASES: Dict[str, Tuple[str, ...]] = {
    "Nothing": ("no error",),
    "ReadBehind": (_RUN, _PLACE + "read 4 bytes, 0 bytes after the end of field 'in'"),
    "ReadFar": (_RUN, _PLACE + "read 4 bytes, "),
    "ReadBefore": (_RUN, "'ReadBefore' " + _PLACE + "read 4 bytes, 4 bytes before the begin of"),
    "WriteBehind": (_RUN, _PLACE + "wrote 4 bytes, 0 bytes after the end of field 'out'"),
    "WriteFar": (_RUN, _PLACE + "wrote 4 bytes, "),
    "WriteBefore": (_RUN, _PLACE + "wrote 4 bytes, 4 bytes before the begin of field 'out'"),
    "WriteInput": (_RUN, "wrote 4 bytes at byte 0 of field 'in', which is an Input"),
    "WriteZero": (_RUN, _PLACE + "wrote 4 bytes at address 0"),
    "ReadZero": (_RUN, _PLACE + "read 4 bytes at address 0"),
    "WriteNull": (_RUN, _PLACE),
    "WriteWild": (_RUN, _PLACE + "wrote 4 bytes, memory that it has no field in"),
    "StepsTooFar": (_RUN, _PLACE + "wrote 4 bytes, 0 bytes after the end of field 'out'"),
    "Divide": (_RUN, "'Divide' " + _PLACE + "divided an integer by 0"),
    "Remainder": (_RUN, _PLACE + "divided an integer by 0"),
    "DivideLeast": (_RUN, _PLACE + "divided an integer by 0, or the least one by -1"),
    "Trap": (_RUN, _PLACE + "reached an invalid instruction"),
    "DeepRecursion": (_RUN, _PLACE + "accessed address "),
    "LoadPair": (_RUN, "loaded 8 bytes at byte 0 of field 'in'", "need not be a multiple of 8"),
    "LoadOddPair": (_RUN, "loaded 8 bytes at byte 4 of field 'in'"),
    "StorePair": (_RUN, "stored 8 bytes at byte 0 " + _OUT),
    "AlignedPair": ("no error",),
    "LoadWordOfBytes": (_RUN, "loaded 4 bytes at byte 0 of field 'in'", "alignment is 1"),
    "LoadPairOfHalves": (_RUN, "loaded 4 bytes at byte 0 of field 'in'", "alignment is 2"),
    "Recursion": ("link_error", "recursive", "DEF_STACK_USAGE"),
    "CallsPointer": ("link_error", "through a pointer"),
    "CallsVirtual": ("link_error", "through a pointer"),
    "UsesNew": ("link_error", "operator ", "no heap"),
    "UsesUnusedHeap": ("link_error", "operator ", "no heap"),
    "UsesVector": ("link_error", "no heap"),
    "LargeLocal": ("graph_memory_allocation_error", "Tile 1 needs", "stacks"),
    "LargeStatic": ("graph_memory_allocation_error", "Tile 1 needs", "static data of codelets"),
    "LargeTable": ("graph_memory_allocation_error", "Tile 1 needs"),
    "DeclaredStack": ("graph_memory_allocation_error", "stacks"),
    "OwnStack": ("graph_memory_allocation_error", "stacks"),
    "OwnWords": ("no error",),
    "SameWord": (_RUN, _PLACE + "worker 1 writes what worker 0 wrote", "at byte 0 " + _OUT),
    "ReadsNeighbour": (_RUN, "reads what worker 0 wrote"),
    "ReadsBeforeWrite": (_RUN, "worker 1 writes what worker 0 read"),
    "OwnBytes": (_RUN, "worker 1 writes into a word of 4 bytes that worker 0 wrote into"),
    "OwnHalves": (_RUN, "writes into a word of 4 bytes that"),
    "OwnShorts": (_RUN, "writes into a word of 4 bytes that"),
    "OwnBooleans": (_RUN, "writes into a word of 4 bytes that"),
    "CountsInState": (_RUN, "worker 1 reads what worker 0 wrote", "of its state"),
    "CountsInStatic": (_RUN, "worker 1 reads what worker 0 wrote", "of static data"),
    "CountsInTensor": (_RUN, "worker 1 reads what worker 0 wrote", "at byte 0 " + _OUT),
    "charsOfOneWord": (
        "graph_cycle_error",
        "'Chars' and 'Chars'",
        "same word of 4 bytes of tile 1",
    ),
    "halvesOfOneWord": ("graph_cycle_error", "same word of 4 bytes"),
    "boolsOfOneWord": ("graph_cycle_error", "same word of 4 bytes"),
    "shortsOfOneWord": ("graph_cycle_error", "same word of 4 bytes"),
    "charsOfTwoWords": ("no error",),
    "charsOfTwoTiles": ("no error",),
    "wordsOfTwoVertices": ("no error",),
    "twoWriters": ("graph_cycle_error", "written by two vertices"),
    "writerAndReader": ("graph_cycle_error", "read by another"),
    "noValue": ("graph_connection_error", "field 'small'", "'layer/step'", "has no value"),
    "tooLarge": ("overflow_error", "'small'", "unsigned char"),
    "negative": ("overflow_error", "'positive'"),
    "fraction": ("overflow_error", "'whole'"),
    "oneOfAList": ("overflow_error", "'list'", "short"),
    "listWithoutSize": ("no_size_specified", "'list'"),
    "otherTargetType": ("runtime_error", "IPU_MODEL", "CPU"),
    "otherTiles": ("runtime_error", "4 tiles", "8"),
    "debug.instrumnet": ("invalid_option", "did you mean 'debug.instrument'?"),
    "autoReport.al": ("invalid_option", "did you mean 'autoReport.all'?"),
    "debug.checkBound": ("invalid_option", "did you mean 'debug.checkBounds'?"),
    "profiler.replicaToProfil": ("invalid_option", "did you mean 'profiler.replicaToProfile'?"),
    "deubg.verify": ("invalid_option", "did you mean 'debug.verify'?"),
    "prng.sed": ("invalid_option", "did you mean 'prng.seed'?"),
    "banana.split": ("invalid_option", "'banana.split'"),
}


@pytest.fixture(scope="module")
def said(run_program: Callable[..., Any]) -> Dict[str, str]:
    """What each case said: one program runs all, and none may end it."""
    done = run_program("breaches", more=(("IPULSE_EMULATOR_SANITIZE", "1"),))
    assert done.returncode == 0, (done.stdout[-500:], done.stderr)
    pairs = (line.partition(": ") for line in done.stdout.splitlines())
    return {name: words for name, _, words in pairs}


def test_every_breach_is_refused_with_its_class_and_place(said: Dict[str, str]) -> None:
    assert sorted(said) == sorted(CASES)
    wrong = {
        case: said[case]
        for case, (kind, *words) in CASES.items()
        if not (said[case].startswith(kind) and all(word in said[case] for word in words))
    }
    assert wrong == {}


def test_a_signal_ends_no_process_without_the_checks(run_program: Callable[..., Any]) -> None:
    faults = ("Divide", "WriteNull", "Trap", "DeepRecursion")
    done = run_program("breaches", *faults)
    assert done.returncode == 0, (done.stdout[-500:], done.stderr)
    lines = sorted(done.stdout.splitlines())
    assert [line.partition(": ")[0] for line in lines] == sorted(faults)
    for line in lines:
        assert f": {_RUN}: vertex '" in line
        assert _PLACE in line
