"""The state of a training between two steps, as one `.npz` file without pickles.

What was trained, optimizer, gates, early stopping, counters and figures are all there is: the
order of batches follows from the seed and the epoch, learning rates and second thresholds from the
step. A training resumed from a checkpoint ends bit for bit like one never stopped.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict

import numpy as np

from ipulse_core.errors import IPUlseError
from ipulse_worker.runner.training.state import State, part, within
from ipulse_worker.runner.work_dir import WorkDir

FORMAT = 2  # of the arrays in the file


class UnusableCheckpoint(IPUlseError):
    """The checkpoint cannot be resumed from."""

    code = "unusable_checkpoint"


@dataclass(frozen=True)
class Checkpoint:
    """Everything the next step depends on."""

    spec_sha256: str  # of the experiment that was trained
    step: int  # training steps done
    state: State  # of the training's parts, each under its name
    history: str  # metrics.jsonl so far


def save(checkpoint: Checkpoint, work_dir: WorkDir, name: str) -> Path:
    """Writes a complete file or none."""
    arrays: Dict[str, Any] = {
        "format": np.array(FORMAT),
        "spec_sha256": np.array(checkpoint.spec_sha256),
        "step": np.array(checkpoint.step, dtype=np.int64),
        "history": np.frombuffer(checkpoint.history.encode("utf-8"), dtype=np.uint8),
        **within("state", checkpoint.state),
    }
    with work_dir.writing(name) as path, path.open("wb") as file:
        np.savez(file, **arrays)
    return work_dir.path / name


def load(path: Path, spec_sha256: str, like: State) -> Checkpoint:
    """The checkpoint of the experiment with this digest; `like` has the state's names and shapes.

    Raises UnusableCheckpoint if the file is damaged or of another experiment.
    """
    try:
        # NumPy leaks files that it cannot read, so they are opened and looked at here.
        if not zipfile.is_zipfile(str(path)):
            raise zipfile.BadZipFile("the file is torn")
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            if int(arrays["format"]) != FORMAT:
                raise UnusableCheckpoint(
                    f"the checkpoint has format {int(arrays['format'])} and this worker reads "
                    f"{FORMAT}: resume it on a worker of the release that wrote it"
                )
            checkpoint = Checkpoint(
                spec_sha256=str(arrays["spec_sha256"]),
                step=int(arrays["step"]),
                state=part("state", {name: arrays[name] for name in arrays.files}),
                history=arrays["history"].tobytes().decode("utf-8"),
            )
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise UnusableCheckpoint(
            f"the checkpoint cannot be read ({error}): submit the experiment again"
        ) from error
    if checkpoint.spec_sha256 != spec_sha256:
        raise UnusableCheckpoint("the checkpoint belongs to another experiment: its spec differs")
    if _shapes(checkpoint.state) != _shapes(like):
        raise UnusableCheckpoint("the checkpoint's arrays do not have the training's shapes")
    return checkpoint


def _shapes(state: State) -> Dict[str, Any]:
    return {name: array.shape for name, array in state.items()}
