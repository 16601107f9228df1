"""Compiles the ops of a job for emulated IPUs."""

from __future__ import annotations

from typing import Any, Dict, Mapping

from ipulse_core.errors import Conflict, InvalidSpec, Problem
from ipulse_core.poplar_environment import RUN_COUNT
from ipulse_worker.runner.devices import poplar_errors
from poplar_emulator.custom_op import CustomOp, CustomOpError


def engine_options(asked: Mapping[str, str]) -> Dict[str, str]:
    """Drop options for reports: the profile is an artifact, and the emulator has no other files."""
    return {
        name: value
        for name, value in asked.items()
        if name == RUN_COUNT or not name.startswith("autoReport.")
    }


class NotCached(Conflict):
    """The job only compiles a program, and the program cannot be stored in the cache."""

    code = "not_kept"


def compile_op(**arguments: Any) -> CustomOp:
    """Return a CustomOp; raise InvalidSpec if the op refuses the spec, such as too few tiles."""
    try:
        return CustomOp(**arguments)
    except CustomOpError as error:
        if poplar_errors.find(str(error)) is not None:
            raise  # an error of Poplar, which has its own reason
        raise InvalidSpec([Problem("/device", "unsupported", str(error))]) from error
