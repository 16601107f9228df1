"""The kinds of jobs: the values of `kind` in a spec."""

from __future__ import annotations

TRAINING = "training"
PROGRAM = "poplar_program"
SCRIPT = "script"
# Those that run a source package of a user.
CODE_KINDS = (PROGRAM, SCRIPT)

# Set when a runner is started for a job of these kinds: it imports nothing for trainings.
CODE_ONLY_VARIABLE = "IPULSE_RUNNER_CODE_ONLY"
