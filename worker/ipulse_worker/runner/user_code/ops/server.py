"""Runs the code of one custom op in its sandbox, for the training outside.

It imports no TensorFlow and knows nothing but the op. A request is answered with its results, or
with an error. A text in place of a profile says why there is none: the training does not depend on
it.
"""

from __future__ import annotations

import json
import sys
import traceback
from pathlib import Path
from typing import Any, Dict, List, Sequence, Union

import numpy as np

from ipulse_core.build_cache.directory import cache_directory
from ipulse_core.errors import InvalidInput, IPUlseError
from ipulse_worker.runner.user_code.budget import MAX_PROFILE_BYTES, MAX_TEXT
from ipulse_worker.runner.user_code.protocol import Incoming, Message, Outgoing
from poplar_emulator.op_project.cpu_op import KernelOp, ReferenceOp
from poplar_emulator.op_project.poplar_op import PoplarOp

RESULT, REFUSED = "result", "refused"  # kinds of answers
Op = Union[KernelOp, ReferenceOp, PoplarOp]


def serve(incoming: Incoming, outgoing: Outgoing, files: Dict[str, Any]) -> None:
    """Answer requests until their pipe is closed.

    files: those of the op, and `form`: kernel, reference or poplar.
    """
    ops: Dict[int, Op] = {}  # by layer
    while True:
        try:
            request = incoming.message()
            arrays = [_array(incoming, shape) for shape in request.fields["arrays"]]
        except EOFError:
            return
        try:
            layer = request.fields["layer"]
            if layer not in ops:
                ops[layer] = _load(files, request.fields["attributes"])
            if request.kind == "profile":
                parts = [memoryview(_profile(ops[layer]))]
            else:
                found = _call(ops[layer], request, arrays, files["gradients"])
                parts = [_bytes(array) for array in found]
        except Exception as error:  # noqa: BLE001 - the op is the user's code
            message = _reason(error).encode("utf-8", "replace").decode()
            outgoing.send(REFUSED, {"message": message[:MAX_TEXT]})
            continue
        outgoing.send(RESULT, {}, parts)


def _load(files: Dict[str, Any], attributes: str) -> Op:
    path, form = Path(files["path"]), files["form"]
    if form == "poplar":
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
    if form == "kernel":
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
    op: Op, request: Message, arrays: List[np.ndarray], wanted: List[int]
) -> Sequence[np.ndarray]:
    if request.kind == "load":
        return []
    if request.kind == "forward":
        return op.forward(
            arrays, [("float32", tuple(shape)) for shape in request.fields["results"]]
        )
    gradient, *entered, left = arrays
    return op.backward([gradient], entered, [left], wanted)


def _profile(op: Op) -> bytes:
    """Return a profile as JSON, or a JSON string that says why there is none."""
    try:
        text = json.dumps(op.profile()).encode()
    except Exception as error:  # noqa: BLE001 - the op is the user's code
        return json.dumps(_reason(error)[:MAX_TEXT]).encode()
    if len(text) > MAX_PROFILE_BYTES:
        return json.dumps(f"it has {len(text):,} bytes, of at most {MAX_PROFILE_BYTES:,}").encode()
    return text


def _array(incoming: Incoming, shape: Sequence[int]) -> np.ndarray:
    array = np.empty(tuple(shape), np.float32)
    incoming.fill(array.reshape(-1).view(np.uint8).data)
    return array


def _bytes(array: np.ndarray) -> memoryview:
    return np.ascontiguousarray(array, np.float32).reshape(-1).view(np.uint8).data


def _reason(error: Exception) -> str:
    if isinstance(error, InvalidInput):
        return "; ".join(problem.detail for problem in error.problems)
    if isinstance(error, IPUlseError):
        return error.message
    traceback.print_exc(file=sys.stderr)
    return f"{type(error).__name__}: {error}"
