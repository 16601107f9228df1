"""Finds mistakes in a library of custom ops and says how to fix them."""

from __future__ import annotations

import json
import os
import signal
import subprocess  # the probe's process
import sys
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Sequence, Set

from ipulse_core.ipu import API_LEVEL
from ipulse_ops.check.symbols import exported
from poplar_emulator.build import CUSTOM_OP_LIBRARY, build

OLD_LEVEL = 4  # of SDK 2.0 to 2.2
PARAMETERS = {4: 6, 5: 7}  # of a metadata function, by level
SUFFIXES = ("_metadata", "_allocator", "_grad")
INPUTS = 3  # inputs passed to a metadata function by default
PROCESSOR_SECONDS = 5  # CPU time limit of a call
_SECONDS = 60.0
_PROBE = Path(__file__).with_name("probe.py")
ALIASING = "input_to_output_tensor_aliasing"  # the name of the map in the probe's report
_FLAGS = ("is_elementwise", "is_stateless", "is_hashable")


class Finding(NamedTuple):
    """One finding. Only errors make a library unusable."""

    severity: str  # error, warning or note
    code: str
    op: str  # the op's name; empty for the whole library
    message: str


class _Called(NamedTuple):
    """The output of the probe, or how its process ended."""

    said: Dict[str, Any]
    died: str

    @property
    def is_clean(self) -> bool:
        return not self.died and not self.said["damage"]

    @property
    def only_shifts_flags(self) -> bool:
        """True if the only damage is a flag in the byte of a map that libstdc++ does not use."""
        return not self.died and self.said["damage"] == [f"corrupted {ALIASING}"]

    @property
    def sets_all(self) -> bool:
        return self.is_clean and all(self.said[flag] is not None for flag in _FLAGS)


def check(
    library: Path,
    ops: Sequence[str] = (),
    level: int = API_LEVEL,
    pre_compile: bool = False,
    inputs: int = INPUTS,
) -> List[Finding]:
    """Return all findings.

    ops: names of the ops to check; empty checks all that can be recognised.
    level: API level of the TensorFlow that will load the library: 4 for SDK 2.0 to 2.2, 5 for SDK
        2.3 to 3.4.
    pre_compile: True makes an op that the executable cache cannot store an error.
    inputs: number of inputs that the metadata functions are called with.
    Raises NotALibrary, OSError; MissingCompiler, BuildFailed if the emulator cannot be built.
    """
    symbols = exported(library)
    return list(_Check(library.resolve(), symbols, level, pre_compile, inputs).run(ops))


def recognised(symbols: Set[str]) -> List[str]:
    """Return the names of ops: `Build`, and each name with metadata, an allocator or a gradient."""
    found = {"Build"} & symbols
    for suffix in SUFFIXES:
        found |= {name[: -len(suffix)] for name in symbols if name.endswith(suffix)}
    return sorted(name for name in found if not name.endswith("_grad"))


class _Check:
    def __init__(
        self, library: Path, symbols: Set[str], level: int, pre_compile: bool, inputs: int
    ) -> None:
        self._library = library
        self._symbols = symbols
        self._level = level
        self._pre_compile = pre_compile
        self._inputs = inputs
        # The loader finds the library of an enabled SDK.
        enabled = os.environ.get("POPLAR_SDK_ENABLED")
        self._poplar = "" if enabled else str(build() / CUSTOM_OP_LIBRARY)

    def run(self, ops: Sequence[str]) -> Iterator[Finding]:
        names = list(ops) or recognised(self._symbols)
        if not names:
            yield self._no_op()
        loaded = self._probe()
        if loaded.died or "not_loaded" in loaded.said:
            why = loaded.died or loaded.said["not_loaded"]
            yield Finding("error", "not_loaded", "", f"the library cannot be loaded: {why}")
            return
        yield from self._of_level(loaded.said["level"])
        for name in names:
            yield from self._of_op(name, loaded.said["level"])

    def _no_op(self) -> Finding:
        mangled = sorted(name for name in self._symbols if name.startswith("_Z5Build"))
        if mangled:
            words = f'Build is exported as {mangled[0]}: put it into extern "C" {{ ... }}'
            return Finding("error", "mangled", "", words)
        words = "no op is exported: there is no Build; name others with --op"
        return Finding("error", "no_op", "", words)

    def _of_level(self, found: int) -> Iterator[Finding]:
        if found != self._level:
            words = (
                f"its API level is {found}, expected {self._level}: export "
                f'extern "C" {{ int32_t custom_op_api_level = {self._level}; }}'
            )
            yield Finding("error", "api_level", "", words)

    def _of_op(self, op: str, level: int) -> Iterator[Finding]:
        if op not in self._symbols:
            others = [op + suffix for suffix in SUFFIXES if op + suffix in self._symbols]
            also = f", and {', '.join(others)} is" if others else ""
            yield Finding("error", "missing_symbol", op, f"{op} is not exported{also}")
        gradient = f"{op}_grad"
        if gradient not in self._symbols:
            words = f"{gradient} is not exported: no gradient can be taken through the op"
            yield Finding("note", "no_gradient", op, words)
        yield from self._of_metadata(op, op, level)
        if gradient in self._symbols or f"{gradient}_metadata" in self._symbols:
            yield from self._of_metadata(op, gradient, level)

    def _of_metadata(self, op: str, function: str, level: int) -> Iterator[Finding]:
        symbol = f"{function}_metadata"
        if symbol not in self._symbols:
            yield self._not_hashable(op, function, f"{symbol} is not exported")
            return
        if function not in self._symbols and function != op:
            words = f"{function} is not exported, and {symbol} is"
            yield Finding("error", "missing_symbol", op, words)
        # Called as the TensorFlow of the library's own level would: no other one loads it.
        own = level if level in PARAMETERS else self._level
        called = self._probe(symbol, own)
        if not called.sets_all:
            other = API_LEVEL + OLD_LEVEL - own
            if self._probe(symbol, other).sets_all:
                yield self._mismatch(op, symbol, own, other, called)
                return
        if not called.is_clean:
            words = f"{symbol} {called.died or '; '.join(called.said['damage'])}"
            yield Finding("error", "metadata_damage", op, words)
            return
        yield from self._of_promises(op, function, called.said)

    def _mismatch(self, op: str, symbol: str, own: int, other: int, called: _Called) -> Finding:
        seen = called.died or "; ".join(called.said["damage"])
        if not seen:
            shown = {flag: called.said[flag] for flag in ("is_elementwise", "is_stateless")}
            seen = f"caller sees {shown} and is_hashable unset"
        what = (
            f"{symbol} has the {PARAMETERS[other]} parameters of level {other} in a library of "
            f"level {own}, which is called with {PARAMETERS[own]}"
        )
        fix = (
            "add std::vector<std::int64_t>& replica_identical_output_indices as the second one"
            if own > other
            else "remove replica_identical_output_indices"
        )
        if own > other and (called.is_clean or called.only_shifts_flags):
            words = (
                f"{what}. TensorFlow runs the op without noticing and reads each flag from the "
                "place of the next: is_stateless arrives as is_elementwise, is_hashable as "
                "is_stateless, and is_hashable stays unset. The emulator runs it as if it had no "
                f"metadata. To fix it, {fix}"
            )
            return Finding("warning", "metadata_parameters", op, words)
        words = f"{what}: what it sets arrives elsewhere ({seen}). To fix it, {fix}"
        return Finding("error", "metadata_parameters", op, words)

    def _of_promises(self, op: str, function: str, said: Dict[str, Any]) -> Iterator[Finding]:
        unset = [name for name in _FLAGS if said[name] is None]
        if unset:
            words = (
                f"{function}_metadata leaves {', '.join(unset)} as it finds it: set every field"
                " (or it has the parameters of another level, and sets something else)"
            )
            yield Finding("warning", "metadata_unset", op, words)
        if not said["is_hashable"]:
            yield self._not_hashable(op, function, "is_hashable is false")
        beyond = [index for index in said["allocating_indices"] if not 0 <= index < self._inputs]
        if beyond:
            words = (
                f"{function}_metadata wants to allocate inputs {beyond} of {self._inputs}; name "
                "their number with --inputs if the op has more"
            )
            yield Finding("warning", "allocating_indices", op, words)
        if said["allocating_indices"] and f"{function}_allocator" not in self._symbols:
            words = f"{function}_metadata wants to allocate, and {function}_allocator is missing"
            yield Finding("error", "missing_symbol", op, words)

    def _not_hashable(self, op: str, function: str, why: str) -> Finding:
        words = (
            f"{why}: programs with {function} are refused under PRE_COMPILE and never "
            "stored in the executable cache"
        )
        severity = "error" if self._pre_compile else "warning"
        return Finding(severity, "not_hashable", op, words)

    def _probe(self, symbol: str = "", level: int = 0) -> _Called:
        call = [symbol, str(level), str(self._inputs)] if symbol else []
        given = [str(PROCESSOR_SECONDS), self._poplar, str(self._library), *call]
        try:
            done = subprocess.run(  # noqa: S603 (our own program, without a shell)
                [sys.executable, "-I", str(_PROBE), *given],
                stdout=subprocess.PIPE,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return _Called({}, f"does not return within {_SECONDS:g} s")
        if done.returncode < 0:
            return _Called({}, f"ends its process with {signal.Signals(-done.returncode).name}")
        if done.returncode or not done.stdout:
            return _Called({}, f"ends its process with code {done.returncode}")
        return _Called(json.loads(done.stdout.splitlines()[-1]), "")
