"""The state that an attempt's training begins with.

It is a checkpoint of this job or of another one, or weights: drawn, of a file, or of another job.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Optional

from ipulse_core.data_files.directory import DataDirectory
from ipulse_core.events import Assignment
from ipulse_worker.runner.event_writer import EventWriter
from ipulse_worker.runner.model.initial_weights import initial_weights
from ipulse_worker.runner.model.start_weights import StartWeights, start_weights
from ipulse_worker.runner.training import checkpoint
from ipulse_worker.runner.training.loop import Training
from ipulse_worker.runner.user_code.ops.ops import CustomOps

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec

_OWNERS = {"job": "another job's", "upload": "the uploaded", "file": "the file's"}


class TrainingStart:
    """Where the state comes from; files with weights are read before the network is compiled."""

    def __init__(
        self,
        assignment: Assignment,
        spec: ExperimentSpec,
        directory: DataDirectory,
        ops: Optional[CustomOps] = None,
    ) -> None:
        """Read the weights that the assignment or the spec names.

        Raises:
            DataUnavailable: the file does not exist.
            DataInvalid: it cannot be read, or does not fit the network.
        """
        self._assignment = assignment
        self._spec = spec
        self._weights: Optional[StartWeights] = None
        if assignment.checkpoint is None:
            is_weights = assignment.start_mode == "weights"
            fetched = assignment.start_from if is_weights else None
            of_ops = {} if ops is None else ops.weight_shapes()
            self._weights = start_weights(spec, directory, fetched, of_ops)

    def begin(self, training: Training, events: EventWriter) -> None:
        """Set the state of a training, and log where it comes from."""
        resumed, mode = self._assignment.checkpoint, self._assignment.start_mode
        if resumed is not None:
            key = self._assignment.spec_key
            state = checkpoint.load(Path(resumed), key, like=training.state())
            training.resume(state)
            events.log(f"resumed from the checkpoint at step {training.step:,}")
        elif mode == "continue":
            self._continue(training)
            events.log(f"continues another job from step {training.step:,}")
        else:
            self._set_weights(training, events)
            training.begin()

    def _continue(self, training: Training) -> None:
        """Train on from the checkpoint of another job with fewer epochs."""
        path = Path(self._assignment.start_from or "")
        training.resume(checkpoint.load(path, None, like=training.state()))
        if training.early_stopping is not None:
            training.early_stopping.wait_again()

    def _set_weights(self, training: Training, events: EventWriter) -> None:
        """Draw the initial weights, or take those of a file or another job."""
        start = self._weights
        if start is None or start.initialised:
            training.model.weights = initial_weights(
                self._spec, training.dataset, training.model.ops
            )
        if start is None:
            return
        training.model.assign(start.arrays)
        training.start = start.to_json()
        names = ", ".join(sorted(start.arrays)) or "nothing"
        events.log(
            f"initial weights: {_OWNERS[start.source]} {start.file} (SHA-256 {start.sha256}): "
            f"{names}"
        )
        for problem in start.ignored:
            events.log(f"initial weights: {problem}", level="warning")
        if start.initialised:
            events.log(f"initial weights: drawn are {', '.join(start.initialised)}")
