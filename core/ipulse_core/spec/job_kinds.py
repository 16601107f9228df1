"""The kinds of jobs: the values of `kind` in a spec."""

from __future__ import annotations

TRAINING = "training"
PROGRAM = "poplar_program"
SCRIPT = "script"
# Those that run a source package of a user.
CODE_KINDS = (PROGRAM, SCRIPT)
