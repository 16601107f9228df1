"""Weights of another training or of a file, with which a training begins."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional

import numpy as np

from ipulse_core.data_files import npz_file
from ipulse_core.data_files.directory import DataDirectory
from ipulse_core.data_files.errors import DataInvalid, DataUnavailable
from ipulse_core.data_files.hdf5_structure import SIGNATURE
from ipulse_core.spec.start_weights import (
    Shape,
    connection_delays,
    is_constant,
    is_op_weight,
    is_parameter,
    mismatches,
    repeats,
    start_shapes,
)

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec

_HINT = (
    "network.initial.file names a file of this directory, such as the weights.npz of a job or what "
    "`ipulse nir import` wrote"
)
_SHOWN = 20  # mismatches in a message


@dataclass(frozen=True)
class StartWeights:
    """Arrays to begin with, and where they are from."""

    source: str  # "job", "file" or "upload"
    file: str
    sha256: str
    arrays: Mapping[str, np.ndarray]  # float32, only those that the network has
    initialised: List[str]  # weights that the file lacks and that are drawn
    ignored: List[str]  # what does not fit

    def to_json(self) -> Dict[str, Any]:
        """Return the fields, with the names of the arrays, for manifest and checkpoint."""
        document = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {**document, "arrays": sorted(self.arrays)}


def start_weights(
    spec: ExperimentSpec,
    directory: DataDirectory,
    fetched: Optional[str] = None,
    of_ops: Mapping[int, Mapping[str, Shape]] = {},
) -> Optional[StartWeights]:
    """Read the weights that the spec or the assignment names; None if they are drawn.

    Args:
        spec: of the training.
        directory: where network.initial.file is.
        fetched: the path of another job's weights, or of the uploaded file, which the agent
            fetched for this attempt.
        of_ops: the shapes of the weights of custom ops, as for `start_shapes`.

    Raises:
        DataUnavailable: the file does not exist.
        DataInvalid: it cannot be read, or does not fit the network; the message lists every array.
    """
    initial = spec.network.initial
    shapes = start_shapes(spec, of_ops)
    if fetched is not None and (initial is None or initial.file is not None):
        if initial is not None:
            raise DataInvalid(
                "the job starts from another job's weights, and network.initial names a file: "
                "choose one of the two"
            )
        return _fitting(spec, shapes, "job", Path(fetched), may_draw=False)
    if initial is None:
        return None
    if initial.file is None:
        if fetched is None:
            raise DataUnavailable("the agent did not fetch the uploaded weights: update it")
        return _fitting(spec, shapes, "upload", Path(fetched), may_draw=initial.missing == "draw")
    path = directory.file(initial.file, hint=_HINT)
    start = _fitting(spec, shapes, "file", path, may_draw=initial.missing == "draw")
    if initial.sha256 is not None and start.sha256 != initial.sha256:
        raise DataInvalid(
            f"{path} has the SHA-256 {start.sha256}, and network.initial.sha256 is "
            f"{initial.sha256}: it is another file, or it was changed"
        )
    return start


def _fitting(
    spec: ExperimentSpec,
    shapes: Mapping[str, Shape],
    source: str,
    path: Path,
    may_draw: bool,
) -> StartWeights:
    found = _read(path)
    problems = mismatches(shapes, {name: array.shape for name, array in found.items()})
    if problems and not may_draw:
        rest = len(problems) - _SHOWN
        more = f"; and {rest:,} more" if rest > 0 else ""
        hint = "" if source == "job" else "; network.initial.missing: draw draws what does not fit"
        raise DataInvalid(
            f"{path.name} does not fit the network: {'; '.join(problems[:_SHOWN])}{more}{hint}"
        )
    arrays = {
        name: array.astype(np.float32)
        for name, array in found.items()
        if shapes.get(name) == array.shape
    }
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise DataInvalid(f"{path.name}: {name} has values that are not finite in float32")
        if name in connection_delays(spec.network):
            _check_delays(spec, path, name, array)
        is_own = is_parameter(name) or is_op_weight(name)
        if name.endswith("decay") and not is_own and not ((array >= 0) & (array < 1)).all():
            raise DataInvalid(f"{path.name}: {name} has values below 0, or not below 1")
    return StartWeights(
        source=source,
        file=path.name,
        sha256=_digest(path),
        arrays=arrays,
        initialised=[name for name in shapes if name not in arrays and not is_constant(name)],
        ignored=problems,
    )


def _check_delays(spec: ExperimentSpec, path: Path, name: str, array: np.ndarray) -> None:
    delays = connection_delays(spec.network)[name]
    if not ((array >= 0) & (array <= delays.longest)).all():
        raise DataInvalid(
            f"{path.name}: {name} has delays of {array.min():g} to {array.max():g} steps, and the "
            f"spec allows 0 to {delays.longest}: "
            + ("delays are not negative" if array.min() < 0 else "raise delays.longest")
        )
    if delays.per == "synapse" and (array != np.round(array)).any():
        raise DataInvalid(f"{path.name}: {name} has delays that are not whole steps")


def _read(path: Path) -> Dict[str, np.ndarray]:
    with path.open("rb") as file:
        if file.read(len(SIGNATURE)) == SIGNATURE:
            raise DataInvalid(
                f"{path.name} is HDF5: `ipulse nir import` makes a spec and weights of a NIR file"
            )
    arrays = npz_file.read(path)
    # Products of integers and scales are in the file, too.
    arrays = {name: array for name, array in arrays.items() if repeats(name) not in arrays}
    for name, array in arrays.items():
        if array.dtype.kind != "f":
            raise DataInvalid(f"{path.name}: {name} has {array.dtype}, and weights are floats")
    return arrays


def _digest(path: Path) -> str:
    digest = sha256()
    with path.open("rb") as file:
        for block in iter(lambda: file.read(2**20), b""):
            digest.update(block)
    return digest.hexdigest()
