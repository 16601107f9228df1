"""Compares pool_op on the emulator with its reference: run it with pytest."""

from __future__ import annotations

from pathlib import Path

from poplar_emulator.op_project.compare import compare


def test_outputs_and_gradients_are_those_of_the_reference() -> None:
    """`ipulse op test` runs the same comparison."""
    compare(Path(__file__).parent).check()
