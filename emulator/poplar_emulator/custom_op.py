"""Custom ops of TensorFlow for the IPU, run on the emulator as TensorFlow would run them.

`CustomOp` takes what `ipu.custom_ops.precompiled_user_op` takes: it loads the library, asks for its
API level and metadata, lets it allocate the inputs it wants to, builds the op and its gradient
into one graph, and runs both on NumPy arrays.
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
from poplar_emulator import custom_op_calls as calls
from poplar_emulator.build import build, fingerprint
from poplar_emulator.custom_op_calls import CustomOpError as CustomOpError
from poplar_emulator.custom_op_calls import Shape as Shape

ForwardPass = Tuple[Sequence[np.ndarray], Sequence[np.ndarray]]  # inputs, outputs


# Steps of compiling that are done, and all of them.
Progress = Callable[[int, int], None]
# What begins now, in words, and may take a while.
Told = Callable[[str], None]


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
        cache: Optional[ExecutableCache] = None,
        progress: Optional[Progress] = None,
        told: Told = lambda words: None,
    ) -> None:
        """Compile, or take from the cache what was compiled before; neither needs a device.

        inputs, outputs: NumPy's name of the type, and the shape, of each.
        codelets: path of a .gp or .cpp file, or empty.
        inputs_with_gradients: without any, no gradient op is built.
        separate_gradients: whether each of them has a gradient op of its own.
        options: of the Poplar engine.
        cache: asked first, and given what was compiled, if the op's metadata let it be kept.
        progress: told what Poplar's compileGraph tells; it must not raise.
        told: told what else takes its time, as it begins.

        Raises CustomOpError; MissingCompiler, BuildFailed if the emulator cannot be built.
        """
        self.cache_key: Optional[str] = None  # under which its executable is kept
        self.is_from_cache = False
        self._inputs, self._outputs = list(inputs), list(outputs)
        self._with_gradients = list(inputs_with_gradients)
        taken, made = calls.tensors(inputs), calls.tensors(outputs)
        listed = (ctypes.c_int64 * len(self._with_gradients))(*self._with_gradients)
        call = calls.Call(
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
            progress=calls.PROGRESS() if progress is None else calls.PROGRESS(progress),
        )
        if cache is None or not calls.asked("hashable", call):
            told("building the graph")
            self._op = calls.made("compile", call)
            return
        self.cache_key = _key(call, inputs, outputs, self._with_gradients, Path(library), codelets)
        told("looking into the executable cache")
        self._op = self._from_cache(call, cache, self.cache_key)
        if self._op is None:
            told("building the graph")
            self._op = calls.made("compile", call)
            told("keeping it in the executable cache")
            try:
                cache.store(self.cache_key, self._executable())
            except OSError as error:
                self.cache_key = None
                cache.warn(f"the executable cache cannot be written: {error}")

    def load(self) -> None:
        """Puts it on its device, as the first run would. Raises CustomOpError."""
        message = ctypes.create_string_buffer(calls.MESSAGE_BYTES)
        if calls.library().ipulse_custom_op_load(self._op, message, calls.MESSAGE_BYTES):
            raise CustomOpError(message.value.decode())

    def forward(self, inputs: Sequence[np.ndarray]) -> List[np.ndarray]:
        """The outputs for these inputs. Raises CustomOpError; ValueError for shapes or types."""
        return self._run("forward", inputs, self._inputs, self._outputs)

    def backward(
        self, gradients: Sequence[np.ndarray], of: Optional[ForwardPass] = None
    ) -> List[np.ndarray]:
        """The gradients by the listed inputs, from those by every output.

        of: the inputs and outputs of a forward pass; else the last one's are still there.
        Raises CustomOpError; ValueError for shapes or types.
        """
        if of is not None:
            message = ctypes.create_string_buffer(calls.MESSAGE_BYTES)
            inputs = _checked("backward", of[0], self._inputs)
            outputs = _checked("backward", of[1], self._outputs)
            pointers = calls.pointers(inputs), calls.pointers(outputs)
            if calls.library().ipulse_custom_op_restore(
                self._op, *pointers, message, calls.MESSAGE_BYTES
            ):
                raise CustomOpError(message.value.decode())
        found = [self._inputs[index] for index in self._with_gradients]
        return self._run("backward", gradients, self._outputs, found)

    def profile(self) -> Dict[str, Any]:
        """The engine's profile: emulated cycles and memory, labelled so. Loads it."""
        self.load()
        library = calls.library()
        text = library.ipulse_custom_op_profile(self._op)
        try:
            profile: Dict[str, Any] = json.loads(ctypes.string_at(text).decode())
        finally:
            library.ipulse_custom_op_free_text(text)
        return profile

    def close(self) -> None:
        """Frees the device. Doing so twice is no error."""
        if self._op:
            calls.library().ipulse_custom_op_free(self._op)
            self._op = None

    def __enter__(self) -> CustomOp:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _from_cache(self, call: calls.Call, cache: ExecutableCache, key: str) -> Any:
        executable = cache.load(key)
        if executable is None:
            return None
        try:
            op = calls.made("deserialize", call, executable, ctypes.c_size_t(len(executable)))
        except CustomOpError as error:
            cache.reject(key, str(error))
            return None
        self.is_from_cache = True
        return op

    def _executable(self) -> bytes:
        message = ctypes.create_string_buffer(calls.MESSAGE_BYTES)
        size = ctypes.c_size_t()
        library = calls.library()
        text = library.ipulse_custom_op_serialize(
            self._op, ctypes.byref(size), message, calls.MESSAGE_BYTES
        )
        if not text:
            raise CustomOpError(message.value.decode())
        try:
            return ctypes.string_at(text, size.value)
        finally:
            library.ipulse_custom_op_free_text(text)

    def _run(
        self,
        name: str,
        given: Sequence[np.ndarray],
        expected: Sequence[Tuple[str, Shape]],
        made: Sequence[Tuple[str, Shape]],
    ) -> List[np.ndarray]:
        arrays = _checked(name, given, expected)
        results = [np.empty(shape, dtype) for dtype, shape in made]
        message = ctypes.create_string_buffer(calls.MESSAGE_BYTES)
        function = getattr(calls.library(), f"ipulse_custom_op_{name}")
        if function(
            self._op, calls.pointers(arrays), calls.pointers(results), message, calls.MESSAGE_BYTES
        ):
            raise CustomOpError(message.value.decode())
        return results


def _key(
    call: calls.Call,
    inputs: Sequence[Tuple[str, Shape]],
    outputs: Sequence[Tuple[str, Shape]],
    with_gradients: Sequence[int],
    library: Path,
    codelets: str,
) -> str:
    """Of all that decides what is compiled: the op's code, what it is asked, and the machine."""
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
