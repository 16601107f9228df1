"""Cached executables of custom ops: valid ones are used, others are compiled again."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List, Tuple

import numpy as np
import pytest

from ipulse_core.build_cache.executables import SUFFIX, ExecutableCache
from ipulse_ops.lif.poplar.build import build
from poplar_emulator import custom_op_bindings
from poplar_emulator.custom_op import CustomOp, CustomOpError

ARGUMENTS: Dict[str, Any] = {
    "op_name": "SpikeMatmul",
    "attributes": "ipulse-spike-matmul/1",
    "gradient_attributes": "ipulse-spike-matmul/1",
    "inputs": [("float32", (3, 2)), ("float32", (2, 1, 2)), ("float32", (2, 1, 2))],
    "outputs": [("float32", (2, 1, 2))],
    "inputs_with_gradients": (0, 1),
    "tiles_per_ipu": 2,
}
INPUTS = [
    np.arange(6, dtype=np.float32).reshape(3, 2),
    np.array([[[0, 2]], [[1, 0]]], np.float32),
    np.array([[[2, 2]], [[1, 1]]], np.float32),
]


@pytest.fixture
def cache(tmp_path: Path) -> ExecutableCache:
    return ExecutableCache(warnings.append, tmp_path)


warnings: List[str] = []


@pytest.fixture(autouse=True)
def _no_warnings() -> None:
    warnings.clear()


def op(cache: ExecutableCache, **changes: Any) -> CustomOp:
    built = build()
    arguments = {**ARGUMENTS, **changes}
    return CustomOp(built.library, str(built.codelets), cache=cache, **arguments)


def run(one: CustomOp) -> Tuple[np.ndarray, ...]:
    with one:
        (product,) = one.forward(INPUTS)
        return (product, *one.backward([np.ones((2, 1, 2), np.float32)]))


@pytest.mark.old_python
def test_a_cached_op_computes_the_same_without_compiling(
    cache: ExecutableCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = op(cache)
    assert not first.is_from_cache
    expected = run(first)
    compiling = custom_op_bindings.new_op

    def refuse_to_compile(how: str, *arguments: Any) -> Any:
        assert how != "compile"
        return compiling(how, *arguments)

    monkeypatch.setattr(custom_op_bindings, "new_op", refuse_to_compile)
    second = op(cache)
    assert second.is_from_cache
    assert second.cache_key == first.cache_key
    actual = run(second)
    assert all(np.array_equal(a, b) for a, b in zip(expected, actual))
    assert warnings == []


def test_arguments_that_change_the_program_change_the_key(cache: ExecutableCache) -> None:
    keys = {op(cache, **changes).cache_key for changes in ({}, {"tiles_per_ipu": 3}, {"ipus": 2})}
    keys.add(op(cache, options={"debug.instrument": "false"}).cache_key)
    assert len(keys) == 4


def test_an_invalid_executable_is_removed_and_compiled_again(
    cache: ExecutableCache,
) -> None:
    key = op(cache).cache_key
    assert key is not None
    cache.store(key, b"\x01not what an emulator wrote")
    again = op(cache)
    assert not again.is_from_cache
    assert "parse_error" in warnings[0]
    assert op(cache).is_from_cache


def test_a_damaged_file_is_compiled_again(cache: ExecutableCache) -> None:
    key = op(cache).cache_key
    path = cache.directory / f"{key}{SUFFIX}"
    path.write_bytes(path.read_bytes()[:-10])
    assert not op(cache).is_from_cache
    assert "should have" in warnings[0]


def test_an_op_that_is_not_hashable_is_not_cached(
    cache: ExecutableCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(custom_op_bindings, "is_hashable", lambda call: False)
    assert op(cache).cache_key is None
    assert cache.usage().executables == 0


def test_a_cache_that_cannot_be_written_is_only_a_warning(
    cache: ExecutableCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(key: str, executable: bytes) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache, "store", full)
    one = op(cache)
    assert one.cache_key is None
    assert "No space left" in warnings[0]
    run(one)


def test_a_truncated_library_is_an_error(tmp_path: Path) -> None:
    """Reading a mapped page beyond the end of the file would end the process."""
    whole, built = build().library.read_bytes(), tmp_path / "op.so"
    for size in (40, 100, len(whole) // 2, len(whole) - 1):
        built.write_bytes(whole[:size])
        with pytest.raises(CustomOpError, match=r"cannot be loaded.*cut short"):
            CustomOp(built, "", **ARGUMENTS)


def test_streams_are_a_part_of_the_key(cache: ExecutableCache) -> None:
    products = [run(op(cache, streamed_outputs=back)) for back in ((), (0,), (0,))]
    for found in products[1:]:
        for array, expected in zip(found, products[0]):
            np.testing.assert_array_equal(array, expected)
    with op(cache) as plain, op(cache, streamed_outputs=[0]) as streamed:
        assert plain.cache_key != streamed.cache_key
        assert streamed.is_from_cache
