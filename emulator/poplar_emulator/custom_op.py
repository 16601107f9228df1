"""Custom ops of TensorFlow for the IPU, run on the emulator as TensorFlow would run them.

`CustomOp` has the arguments of `ipu.custom_ops.precompiled_user_op`. It loads the library, reads
its API level and metadata, lets it allocate inputs, builds the op and its gradient into one graph,
and runs both on NumPy arrays.
"""

from __future__ import annotations

import ctypes
import json
import os
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from ipulse_core.build_cache.executables import ExecutableCache, file_sha256, key_of
from ipulse_core.ipu import API_LEVEL as API_LEVEL
from ipulse_core.ipu import MK2_TILES as MK2_TILES
from poplar_emulator import custom_op_bindings as bindings
from poplar_emulator.build import build, fingerprint
from poplar_emulator.custom_op_bindings import CustomOpError as CustomOpError
from poplar_emulator.custom_op_bindings import Shape as Shape

ForwardPass = Tuple[Sequence[np.ndarray], Sequence[np.ndarray]]  # inputs, outputs


# Called with the number of finished compilation steps and the number of all steps.
StepCallback = Callable[[int, int], None]
# Called with a description of the stage that begins.
StageCallback = Callable[[str], None]

# An option of the engine: elements of an output that no vertex writes become NaN and are seen.
POISON = {"debug.poisonOutputs": "true"}


class CustomOp:
    """One custom op compiled for fixed shapes, and its state on an emulated device of its own."""

    def __init__(
        self,
        library: Path,
        codelets: str,
        inputs: Sequence[Tuple[str, Shape]],
        outputs: Sequence[Tuple[str, Shape]],
        op_name: str = "Build",
        attributes: str = "",
        gradient_attributes: str = "",
        inputs_with_gradients: Sequence[int] = (),
        separate_gradients: bool = False,
        api_level: int = API_LEVEL,
        ipus: int = 1,
        tiles_per_ipu: int = MK2_TILES,
        options: Mapping[str, str] = {},
        streamed_inputs: Sequence[int] = (),
        streamed_outputs: Sequence[int] = (),
        cache: Optional[ExecutableCache] = None,
        progress: Optional[StepCallback] = None,
        on_stage: StageCallback = lambda stage: None,
    ) -> None:
        """Compile the op or load it from the cache; neither needs a device.

        inputs, outputs: the NumPy type name and the shape of each.
        codelets: path of a .gp or .cpp file, or empty.
        inputs_with_gradients: if empty, no gradient op is built.
        separate_gradients: build one gradient op for each of these inputs.
        options: of the Poplar engine.
        streamed_inputs: inputs that a stream copies to the device in every forward pass, as steps
            of the program; the others are there already.
        streamed_outputs: outputs that a stream copies to the host in every forward pass. With one
            or more, the gradients are copied in every backward pass, too.
        cache: used if the op's metadata sets is_hashable.
        progress: called with the progress of Poplar's compileGraph; it must not raise.
        on_stage: called when each of the other stages begins.

        Raises CustomOpError; MissingCompiler, BuildFailed if the emulator cannot be built.
        """
        self.cache_key: Optional[str] = None  # of its executable in the cache
        self.is_from_cache = False
        self._inputs, self._outputs = list(inputs), list(outputs)
        self._with_gradients = list(inputs_with_gradients)
        taken, made = bindings.tensors(inputs), bindings.tensors(outputs)
        listed = (ctypes.c_int64 * len(self._with_gradients))(*self._with_gradients)
        streamed = (ctypes.c_uint32 * len(streamed_inputs))(*streamed_inputs)
        back = (ctypes.c_uint32 * len(streamed_outputs))(*streamed_outputs)
        call = bindings.EngineCall(
            library=str(library).encode(),
            codelets=codelets.encode(),
            op_name=op_name.encode(),
            attributes=attributes.encode(),
            gradient_attributes=gradient_attributes.encode(),
            api_level=api_level,
            ipus=ipus,
            tiles_per_ipu=tiles_per_ipu,
            options="\n".join(f"{key}={value}" for key, value in options.items()).encode(),
            inputs=len(inputs),
            outputs=len(outputs),
            gradients=len(listed),
            input=taken,
            output=made,
            inputs_with_gradients=listed,
            separate_gradients=separate_gradients,
            progress=bindings.PROGRESS() if progress is None else bindings.PROGRESS(progress),
            streamed=len(streamed),
            streamed_inputs=streamed,
            streamed_back=len(back),
            streamed_outputs=back,
        )
        if cache is None or not bindings.is_hashable(call):
            on_stage("building the graph")
            self._op = bindings.new_op("compile", call)
            return
        streams = [list(streamed_inputs), list(streamed_outputs)]
        self.cache_key = _key(
            call, inputs, outputs, self._with_gradients, Path(library), codelets, streams
        )
        on_stage("searching the executable cache")
        self._op = self._from_cache(call, cache, self.cache_key)
        if self._op is None:
            on_stage("building the graph")
            self._op = bindings.new_op("compile", call)
            on_stage("storing it in the executable cache")
            try:
                cache.store(self.cache_key, bindings.serialize(self._op))
            except OSError as error:
                self.cache_key = None
                cache.warn(f"the executable cache cannot be written: {error}")

    def load(self) -> None:
        """Load the op onto its device, as its first run would. Raises CustomOpError."""
        bindings.run_function("load", self._op)

    def forward(self, inputs: Sequence[np.ndarray]) -> List[np.ndarray]:
        """Return the outputs for these inputs.

        Raises CustomOpError; ValueError for shapes or types.
        """
        return self._run("forward", inputs, self._inputs, self._outputs)

    def backward(
        self, gradients: Sequence[np.ndarray], of: Optional[ForwardPass] = None
    ) -> List[np.ndarray]:
        """Return the gradients of the listed inputs, given those of every output.

        of: the inputs and outputs of a forward pass, by default of the last one.
        Raises CustomOpError; ValueError for shapes or types.
        """
        if of is not None:
            inputs = _checked("backward", of[0], self._inputs)
            outputs = _checked("backward", of[1], self._outputs)
            bindings.run_function(
                "restore", self._op, bindings.pointers(inputs), bindings.pointers(outputs)
            )
        listed = [self._inputs[index] for index in self._with_gradients]
        return self._run("backward", gradients, self._outputs, listed)

    def profile(self) -> Dict[str, Any]:
        """Load the op and return the engine's profile of emulated cycles and memory."""
        self.load()
        library = bindings.library()
        text = library.ipulse_custom_op_profile(self._op)
        try:
            profile: Dict[str, Any] = json.loads(ctypes.string_at(text).decode())
        finally:
            library.ipulse_custom_op_free_text(text)
        return profile

    def close(self) -> None:
        """Release the device. A second call does nothing."""
        if self._op:
            bindings.library().ipulse_custom_op_free(self._op)
            self._op = None

    def __enter__(self) -> CustomOp:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _from_cache(self, call: bindings.EngineCall, cache: ExecutableCache, key: str) -> Any:
        executable = cache.load(key)
        if executable is None:
            return None
        try:
            op = bindings.new_op("deserialize", call, executable, ctypes.c_size_t(len(executable)))
        except CustomOpError as error:
            cache.reject(key, str(error))
            return None
        self.is_from_cache = True
        return op

    def _run(
        self,
        name: str,
        given: Sequence[np.ndarray],
        expected: Sequence[Tuple[str, Shape]],
        made: Sequence[Tuple[str, Shape]],
    ) -> List[np.ndarray]:
        arrays = _checked(name, given, expected)
        results = [np.empty(shape, dtype) for dtype, shape in made]
        bindings.run_function(name, self._op, bindings.pointers(arrays), bindings.pointers(results))
        return results


def _key(
    call: bindings.EngineCall,
    inputs: Sequence[Tuple[str, Shape]],
    outputs: Sequence[Tuple[str, Shape]],
    with_gradients: Sequence[int],
    library: Path,
    codelets: str,
    streams: Sequence[Sequence[int]],
) -> str:
    """Return the cache key: a hash of the op's code, its arguments and the machine."""
    return key_of(
        {
            "emulator": fingerprint(build()),
            "arch": os.environ.get("IPULSE_EMULATOR_ARCH"),
            "engine": [call.options.decode(), os.environ.get("POPLAR_ENGINE_OPTIONS")],
            "library": file_sha256(library),
            "codelets": file_sha256(Path(codelets)) if codelets else None,
            "op": call.op_name.decode(),
            "attributes": [call.attributes.decode(), call.gradient_attributes.decode()],
            "level": call.api_level,
            "machine": [call.ipus, call.tiles_per_ipu],
            "inputs": [[dtype, list(shape)] for dtype, shape in inputs],
            "outputs": [[dtype, list(shape)] for dtype, shape in outputs],
            "gradients": [list(with_gradients), call.separate_gradients],
            "streamed": streams,
        }
    )


def _checked(
    name: str, given: Sequence[np.ndarray], expected: Sequence[Tuple[str, Shape]]
) -> List[np.ndarray]:
    if len(given) != len(expected):
        raise ValueError(f"{name} takes {len(expected)} arrays; got {len(given)}")
    arrays = []
    for number, (array, (dtype, shape)) in enumerate(zip(given, expected)):
        if array.dtype != np.dtype(dtype) or array.shape != tuple(shape):
            raise ValueError(
                f"array {number} of {name} must be {dtype} of shape {tuple(shape)}; "
                f"got {array.dtype} of shape {array.shape}"
            )
        arrays.append(np.ascontiguousarray(array))
    return arrays
