"""Calls a library's metadata function as TensorFlow does, with canaries around every argument.

`probe.py SECONDS POPLAR LIB.so [SYMBOL LEVEL INPUTS]` loads the library, calls the function if one
is named, and prints the result as JSON. It runs as a separate process, because a function with
other parameters than expected may overwrite memory, crash or loop forever. SECONDS limits its CPU
time. POPLAR is a library to load first, or empty.

The arguments are std::vector<int64_t>, std::map<int64_t, int64_t> and bool by reference, laid out
as in libstdc++, so that every byte that the function may change is known.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import sys
from typing import Any, Dict, List, Sequence

_CANARY = 0xA5
_UNSET = 0xCC  # neither false nor true
_MARGIN = 96  # bytes before and after an argument: a std::map has 48
_POINTER = 8
_VECTOR, _MAP, _BOOL = 3 * _POINTER, 6 * _POINTER, 1
_MOST_MEMORY = 8 * 2**30  # bytes of address space, so that an endless allocation fails


class _Argument:
    """An argument of a given size, with canaries on both sides."""

    def __init__(self, name: str, size: int, fill: int = 0) -> None:
        self.name = name
        self.size = size
        whole = bytes([_CANARY]) * _MARGIN
        self._memory = ctypes.create_string_buffer(whole + bytes([fill]) * size + whole)
        self.address = ctypes.addressof(self._memory) + _MARGIN

    def content(self) -> bytes:
        return ctypes.string_at(self.address, self.size)

    def is_overrun(self) -> bool:
        sides = (self.address - _MARGIN, self.address + self.size)
        return any(ctypes.string_at(at, _MARGIN) != bytes([_CANARY]) * _MARGIN for at in sides)


class _Vector(_Argument):
    def __init__(self, name: str) -> None:
        super().__init__(name, _VECTOR)

    def is_broken(self) -> bool:
        begin, end, limit = self._ends()
        return not begin <= end <= limit or (end - begin) % 8 != 0 or (begin == 0) != (limit == 0)

    def values(self) -> List[int]:
        begin, end, _ = self._ends()
        number = (end - begin) // 8
        return list((ctypes.c_int64 * number).from_address(begin)) if number else []

    def _ends(self) -> List[int]:
        return [int.from_bytes(self.content()[at : at + 8], "little") for at in (0, 8, 16)]


class _Map(_Argument):
    """A std::map. Its first eight bytes belong to the stateless comparison and stay unchanged."""

    def __init__(self, name: str) -> None:
        super().__init__(name, _MAP)
        header = self.address + _POINTER
        words = (ctypes.c_uint64 * 6).from_address(self.address)
        words[0] = int.from_bytes(bytes([_CANARY]) * _POINTER, "little")
        words[3] = words[4] = header  # leftmost and rightmost of an empty tree

    def is_broken(self) -> bool:
        return self.content()[:_POINTER] != bytes([_CANARY]) * _POINTER


def call_metadata(function: Any, level: int, inputs: int) -> Dict[str, Any]:
    """Call the function as TensorFlow of that API level does; return its results and damage."""
    allocating = _Vector("allocating_indices")
    identical = _Vector("replica_identical_output_indices")
    aliasing = _Map("input_to_output_tensor_aliasing")
    flags = [
        _Argument(name, _BOOL, _UNSET) for name in ("is_elementwise", "is_stateless", "is_hashable")
    ]
    taken: Sequence[_Argument] = [allocating, *([identical] if level >= 5 else []), aliasing]
    arguments = [*taken, *flags]
    function.restype = None
    pointers = [ctypes.c_void_p(argument.address) for argument in arguments]
    function(*pointers, ctypes.c_uint32(inputs))
    damage = [f"wrote outside of {one.name}" for one in arguments if one.is_overrun()]
    damage += [
        f"corrupted {one.name}"
        for one in (allocating, identical, aliasing)
        if one in taken and one.is_broken()
    ]
    damage += [
        f"wrote {one.content()[0]} into {one.name}, which is no bool"
        for one in flags
        if one.content()[0] not in (0, 1, _UNSET)
    ]
    found: Dict[str, Any] = {
        one.name: None if one.content()[0] == _UNSET else bool(one.content()[0]) for one in flags
    }
    found["damage"] = damage
    found["allocating_indices"] = [] if damage else allocating.values()
    return found


def main(arguments: List[str]) -> None:
    """Load the library, call the function and print the result."""
    seconds, poplar, path, *call = arguments
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 1))
    if poplar:
        ctypes.CDLL(poplar, mode=ctypes.RTLD_GLOBAL)
    said: Dict[str, Any] = {}
    try:
        library = ctypes.CDLL(path, mode=os.RTLD_NOW)
    except OSError as error:
        _say({"not_loaded": str(error)})
        return
    try:
        said["level"] = ctypes.c_int32.in_dll(library, "custom_op_api_level").value
    except ValueError:
        said["level"] = 0  # which is how TensorFlow reads a missing one
    if call:
        symbol, level, inputs = call
        said.update(call_metadata(getattr(library, symbol), int(level), int(inputs)))
    _say(said)


def _say(said: Dict[str, Any]) -> None:
    # Exits without destructors, because the library may have damaged this process. The result is
    # on a separate line, after anything that the library printed.
    sys.stdout.write(f"\n{json.dumps(said)}")
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
