"""The process in the sandbox: runs the code of one custom op for the training outside.

It imports no TensorFlow and knows nothing but the op. A request is a line of JSON and the bytes of
its arrays; an answer is one byte, and then either the bytes of the results, whose sizes the other
side knows, the length and the text of a profile, or the length and the text of an error. A text in
place of a profile says why there is none: the training does not depend on it.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import IO, Any, Dict, List, Sequence, Union

import numpy as np

from ipulse_core.build_cache.directory import cache_directory
from ipulse_core.errors import InvalidInput, IPUlseError
from poplar_emulator.op_project.cpu_op import KernelOp, ReferenceOp
from poplar_emulator.op_project.poplar_op import PoplarOp

MAX_MESSAGE = 4000  # bytes
MAX_PROFILE_BYTES = 2**26
_SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
GOOD, FAILED = b"\0", b"\1"
Op = Union[KernelOp, ReferenceOp, PoplarOp]


def main(arguments: Sequence[str]) -> None:
    """Answer requests until their pipe is closed.

    Arguments: `kernel`, `reference` or `poplar`, JSON about its files, and the descriptors of the
    two pipes.
    """
    kind, files, reads, writes = arguments
    ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)  # if the training ends first
    requests, answers = os.fdopen(int(reads), "rb"), os.fdopen(int(writes), "wb")
    described = json.loads(files)
    ops: Dict[int, Op] = {}  # by layer
    for line in requests:
        request = json.loads(line)
        arrays = [_read(requests, shape) for shape in request["arrays"]]
        try:
            layer = request["layer"]
            if layer not in ops:
                ops[layer] = _load(kind, described, request["attributes"])
            op = ops[layer]
            if request["call"] == "profile":
                _write_text(answers, _profile(op))
                continue
            results = _call(op, request, arrays, described["gradients"])
        except Exception as error:  # noqa: BLE001 - the op is the user's code
            _refuse(answers, error)
            continue
        answers.write(GOOD)
        for result in results:
            answers.write(np.ascontiguousarray(result, np.float32).tobytes())
        answers.flush()


def _load(kind: str, files: Dict[str, Any], attributes: str) -> Op:
    path = Path(files["path"])
    if kind == "poplar":
        _show_emulator(Path(files["prefix"]))
        fixed = files["gradient_attributes"]
        by_gradient = attributes if fixed is None else fixed
        return PoplarOp(
            path,
            files["codelets"],
            attributes,
            by_gradient,
            files["op_name"],
            files["tiles"],
            files["gradients"],
        )
    if kind == "kernel":
        return KernelOp(path, attributes)
    op = ReferenceOp(path, attributes)
    op.require_gradient()
    return op


def _show_emulator(prefix: Path) -> None:
    """Put the emulator, which is in the cache of others, into the empty cache of this process."""
    cache = cache_directory()
    cache.mkdir(parents=True, exist_ok=True)
    if prefix.parent != cache and not (cache / prefix.name).exists():
        (cache / prefix.name).symlink_to(prefix)


def _call(
    op: Op, request: Dict[str, Any], arrays: List[np.ndarray], wanted: List[int]
) -> Sequence[np.ndarray]:
    if request["call"] == "load":
        return []
    if request["call"] == "forward":
        return op.forward(arrays, [("float32", tuple(shape)) for shape in request["results"]])
    gradient, *entered, left = arrays
    return op.backward([gradient], entered, [left], wanted)


def _profile(op: Op) -> bytes:
    """Return a profile as JSON, or a JSON string that says why there is none."""
    try:
        text = json.dumps(op.profile()).encode()
    except Exception as error:  # noqa: BLE001 - the op is the user's code
        return json.dumps(_reason(error)[:MAX_MESSAGE]).encode()
    if len(text) > MAX_PROFILE_BYTES:
        return json.dumps(f"it has {len(text):,} bytes, of at most {MAX_PROFILE_BYTES:,}").encode()
    return text


def _read(requests: IO[bytes], shape: Sequence[int]) -> np.ndarray:
    array = np.empty(tuple(shape), np.float32)
    buffer = array.reshape(-1).view(np.uint8).data
    while buffer:
        count = requests.readinto(buffer)  # type: ignore[attr-defined] # of a buffered reader
        if not count:
            sys.exit(0)
        buffer = buffer[count:]
    return array


def _write_text(answers: IO[bytes], text: bytes) -> None:
    answers.write(GOOD + len(text).to_bytes(4, "little") + text)
    answers.flush()


def _reason(error: Exception) -> str:
    if isinstance(error, InvalidInput):
        return "; ".join(problem.detail for problem in error.problems)
    if isinstance(error, IPUlseError):
        return error.message
    traceback.print_exc(file=sys.stderr)
    return f"{type(error).__name__}: {error}"


def _refuse(answers: IO[bytes], error: Exception) -> None:
    message = _reason(error).encode("utf-8", "replace")[:MAX_MESSAGE]
    answers.write(FAILED + len(message).to_bytes(4, "little") + message)
    answers.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
