"""Calls a library's metadata function as TensorFlow does, with canaries around every argument.

`probe.py SECONDS POPLAR LIB.so [SYMBOL LEVEL INPUTS]` loads the library, calls the function if one
is named, and prints what it saw as JSON. It is a process of its own because a function that takes
other parameters than it is given writes where it should not, and may kill it, or loops for ever:
so many seconds of the processor it gets. POPLAR is a library to load before, or empty.

The arguments are std::vector<int64_t>, std::map<int64_t, int64_t> and bool by reference, laid out
by hand as libstdc++ has them, so that every byte they may change is known.
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
_MOST_MEMORY = 8 * 2**30  # of address space; a function that loops for ever ends there


class _Argument:
    """So many bytes with canaries on both sides."""

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
    """Its first eight bytes are the comparison's, which has no state: nothing writes there."""

    def __init__(self, name: str) -> None:
        super().__init__(name, _MAP)
        header = self.address + _POINTER
        words = (ctypes.c_uint64 * 6).from_address(self.address)
        words[0] = int.from_bytes(bytes([_CANARY]) * _POINTER, "little")
        words[3] = words[4] = header  # leftmost and rightmost of an empty tree

    def is_broken(self) -> bool:
        return self.content()[:_POINTER] != bytes([_CANARY]) * _POINTER


def call_metadata(function: Any, level: int, inputs: int) -> Dict[str, Any]:
    """What the function set, and what it damaged, when it is called as that level's TensorFlow
    calls it."""
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
    damage = [f"wrote beside {one.name}" for one in arguments if one.is_overrun()]
    damage += [
        f"wrote into {one.name} what none of its functions writes"
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
    # At once, and without the library's own endings: it may have damaged this process. On a line
    # of its own, whatever the library has printed.
    sys.stdout.write(f"\n{json.dumps(said)}")
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
