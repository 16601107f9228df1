"""The state of a training between two steps, as one `.npz` file without pickles.

It contains the trained arrays, optimizer, layer limits, early stopping, counters and metrics. The
order of batches follows from the seed and the epoch, learning rates and second thresholds from the
step. A resumed training ends with the same bits as an uninterrupted one.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence

import numpy as np

from ipulse_core.errors import IPUlseError
from ipulse_worker.runner.model.state import State, part, within
from ipulse_worker.runner.training.platforms import PlatformHistory
from ipulse_worker.runner.work_dir import WorkDir

FORMAT = 2  # version of the names and shapes in the file


class UnusableCheckpoint(IPUlseError):
    """The attempt cannot resume from the checkpoint."""

    code = "unusable_checkpoint"


@dataclass(frozen=True)
class Checkpoint:
    """Everything that the next step depends on."""

    spec_sha256: str  # of the trained spec with the defaults of the version that trained it
    step: int  # completed training steps
    state: State  # of the training's parts, each with the part's name as a prefix
    history: str  # metrics.jsonl so far
    # Entries of a PlatformHistory; none in checkpoints of 0.2.0 and earlier.
    platforms: Sequence[Mapping[str, Any]] = ()
    # StartWeights.to_json; None for drawn weights and in checkpoints of 0.2.0 and earlier.
    start: Optional[Dict[str, Any]] = None
    # Assignment.spec_key, which other versions compare; none in checkpoints of 0.2.0 and earlier.
    spec_key: Optional[str] = None


def save(checkpoint: Checkpoint, work_dir: WorkDir, name: str) -> Path:
    """Write the file atomically and return its path."""
    arrays: Dict[str, Any] = {
        "format": np.array(FORMAT),
        "spec_sha256": np.array(checkpoint.spec_sha256),
        "spec_key": np.array(checkpoint.spec_key or ""),
        "step": np.array(checkpoint.step, dtype=np.int64),
        "history": _text(checkpoint.history),
        "platforms": _text(json.dumps(list(checkpoint.platforms))),
        "start": _text(json.dumps(checkpoint.start)),
        **within("state", checkpoint.state),
    }
    with work_dir.writing(name) as path, path.open("wb") as file:
        np.savez(file, **arrays)
    return work_dir.path / name


def load(path: Path, spec_key: Optional[str], like: State) -> Checkpoint:
    """Read a checkpoint.

    Args:
        path: of the file.
        spec_key: digest of the spec without defaults, which must be the checkpoint's if that has
            one; None: that of another job, whose spec the service compared.
        like: a state with the expected names and shapes.

    Raises:
        UnusableCheckpoint: the file is damaged or belongs to another spec.
    """
    try:
        # NumPy leaks the descriptor of a file that it cannot read, so the file is opened here.
        if not zipfile.is_zipfile(str(path)):
            raise zipfile.BadZipFile("it is incomplete")
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            if int(arrays["format"]) != FORMAT:
                raise UnusableCheckpoint(
                    f"the checkpoint has format {int(arrays['format'])} and this worker reads "
                    f"format {FORMAT}: resume it on a worker of the release that wrote it"
                )
            checkpoint = Checkpoint(
                spec_sha256=str(arrays["spec_sha256"]),
                step=int(arrays["step"]),
                state=part("state", {name: arrays[name] for name in arrays.files}),
                history=arrays["history"].tobytes().decode("utf-8"),
                platforms=_platforms(arrays),
                start=_start(arrays),
                spec_key=str(arrays["spec_key"]) or None if "spec_key" in arrays.files else None,
            )
    except (OSError, EOFError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise UnusableCheckpoint(
            f"the checkpoint cannot be read ({error}): submit the experiment again"
        ) from error
    if None not in (spec_key, checkpoint.spec_key) and checkpoint.spec_key != spec_key:
        raise UnusableCheckpoint(
            "the checkpoint belongs to another spec: resume the job that wrote it"
        )
    if _shapes(checkpoint.state) != _shapes(like):
        raise UnusableCheckpoint(
            "the checkpoint's arrays do not have the network's shapes: submit the experiment again"
        )
    return checkpoint


def _text(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-8"), dtype=np.uint8)


def _platforms(arrays: Any) -> List[Dict[str, Any]]:
    if "platforms" not in arrays.files:
        return []
    entries = json.loads(arrays["platforms"].tobytes())
    return PlatformHistory(entries).to_json()  # raises an error for anything else


def _start(arrays: Any) -> Optional[Dict[str, Any]]:
    if "start" not in arrays.files:
        return None
    start: Optional[Dict[str, Any]] = json.loads(arrays["start"].tobytes())
    return start


def _shapes(state: State) -> Dict[str, Any]:
    return {name: array.shape for name, array in state.items()}
