"""The state of a training between two steps, as one `.npz` file without pickles.

Weights, optimizer, counters and figures are all there is: the order of batches follows from the
seed and the epoch. A training resumed from a checkpoint ends bit for bit like one never stopped.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List

import numpy as np

from ipulse.errors import IPUlseError

from .work_dir import WorkDir

FORMAT = 1  # of the arrays in the file


class UnusableCheckpoint(IPUlseError):
    """The checkpoint cannot be resumed from."""

    code = "unusable_checkpoint"


@dataclass(frozen=True)
class Checkpoint:
    """Everything the next step depends on."""

    spec_sha256: str  # of the experiment that was trained
    step: int  # training steps done
    weights: List[np.ndarray]  # float32 [N_in, N_out] of each layer and the readout
    means: List[np.ndarray]  # float32, like weights: Adam's mean of gradients
    squares: List[np.ndarray]  # float32, like weights: Adam's mean of squares
    epoch_sums: np.ndarray  # float64: the tally of the epoch begun
    history: str  # metrics.jsonl so far


def save(checkpoint: Checkpoint, work_dir: WorkDir, name: str) -> Path:
    """Writes a complete file or none."""
    arrays: Dict[str, Any] = {
        "format": np.array(FORMAT),
        "spec_sha256": np.array(checkpoint.spec_sha256),
        "step": np.array(checkpoint.step, dtype=np.int64),
        "epoch_sums": checkpoint.epoch_sums,
        "history": np.frombuffer(checkpoint.history.encode("utf-8"), dtype=np.uint8),
    }
    for kind, matrices in _matrices(checkpoint).items():
        for number, matrix in enumerate(matrices):
            arrays[f"{kind}_{number}"] = matrix
    with work_dir.writing(name) as path, path.open("wb") as file:
        np.savez(file, **arrays)
    return work_dir.path / name


def load(path: Path, spec_sha256: str, like: List[np.ndarray]) -> Checkpoint:
    """The checkpoint of the experiment with this digest; `like` has the shapes of its weights.

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
                weights=[arrays[f"weights_{number}"] for number in range(len(like))],
                means=[arrays[f"means_{number}"] for number in range(len(like))],
                squares=[arrays[f"squares_{number}"] for number in range(len(like))],
                epoch_sums=arrays["epoch_sums"],
                history=arrays["history"].tobytes().decode("utf-8"),
            )
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise UnusableCheckpoint(
            f"the checkpoint cannot be read ({error}): submit the experiment again"
        ) from error
    if checkpoint.spec_sha256 != spec_sha256:
        raise UnusableCheckpoint("the checkpoint belongs to another experiment: its spec differs")
    for matrices in _matrices(checkpoint).values():
        if [matrix.shape for matrix in matrices] != [matrix.shape for matrix in like]:
            raise UnusableCheckpoint("the checkpoint's weights do not have the network's shapes")
    return checkpoint


def _matrices(checkpoint: Checkpoint) -> Dict[str, List[np.ndarray]]:
    return {
        "weights": checkpoint.weights,
        "means": checkpoint.means,
        "squares": checkpoint.squares,
    }
