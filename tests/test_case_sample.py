from __future__ import annotations

from itertools import product
from types import SimpleNamespace
from typing import Any

from .case_sample import DATABASES, in_slice, outside_sample

SIZES = (1, 7, 9, 33)
MASKS = ("scalar", "avx2", "avx512")


def case(test: str, sample: int | None = None, **parameters: Any) -> Any:
    def marker(name: str) -> Any:
        return None if sample is None else SimpleNamespace(args=(sample,))

    if not parameters:
        return SimpleNamespace(nodeid=test, get_closest_marker=marker)
    name = "-".join(map(str, parameters.values()))
    called = SimpleNamespace(params=parameters)
    return SimpleNamespace(nodeid=f"{test}[{name}]", callspec=called, get_closest_marker=marker)


def combinations(test: str) -> list[Any]:
    return [case(test, size=size, mask=mask) for size, mask in product(SIZES, MASKS)]


def sample_of(cases: list[Any]) -> list[Any]:
    left_out = {item.nodeid for item in outside_sample(cases)}
    return [item for item in cases if item.nodeid not in left_out]


def test_has_every_value_of_every_parameter() -> None:
    cases = combinations("a.py::test")
    kept = sample_of(cases)
    assert {item.callspec.params["size"] for item in kept} == set(SIZES)
    assert {item.callspec.params["mask"] for item in kept} == set(MASKS)
    assert len(kept) < len(cases)


def test_has_every_test_and_every_case_of_one_parameter() -> None:
    cases = [case("a.py::one"), *(case("a.py::list", size=size) for size in SIZES)]
    assert sample_of(cases) == cases


def test_the_values_of_one_test_are_not_those_of_another() -> None:
    kept = sample_of(combinations("a.py::test") + combinations("b.py::test"))
    assert {item.nodeid.partition("[")[0] for item in kept} == {"a.py::test", "b.py::test"}
    sizes = {item.callspec.params["size"] for item in kept if item.nodeid.startswith("b.py")}
    assert sizes == set(SIZES)


def test_is_the_same_in_every_order() -> None:
    cases = combinations("a.py::test")
    backwards = sample_of(cases[::-1])
    assert sample_of(cases) == backwards[::-1]


def test_has_as_many_cases_as_a_marker_says() -> None:
    marked = [case("a.py::marked", sample=2, size=size) for size in SIZES]
    others = [case("a.py::other", size=size) for size in SIZES]
    kept = sample_of(marked + others)
    assert len(kept) == 2 + len(SIZES)
    assert kept[2:] == others


def test_a_file_runs_on_one_database_and_some_files_on_each() -> None:
    files = [
        [case(f"{name}.py::{test}", database_settings=kind) for test in "ab" for kind in DATABASES]
        for name in "abcdefgh"
    ]
    kinds = [
        {item.callspec.params["database_settings"] for item in sample_of(one)} for one in files
    ]
    assert all(len(sample_of(one)) == 2 for one in files)
    assert sorted(map(len, kinds)) == [1] * len(files)
    assert set().union(*kinds) == set(DATABASES)


def test_every_case_is_in_one_slice() -> None:
    cases = combinations("a.py::test")
    slices = [in_slice(cases, f"{at}/8") for at in range(8)]
    assert sorted(item.nodeid for part in slices for item in part) == sorted(
        item.nodeid for item in cases
    )


def test_a_slice_does_not_depend_on_other_cases() -> None:
    cases = combinations("a.py::test")
    kept = {item.nodeid for item in in_slice(cases, "3/8")}
    few = {item.nodeid for item in in_slice(cases[::2], "3/8")}
    assert few == kept & {item.nodeid for item in cases[::2]}


def test_a_marker_with_zero_leaves_a_test_out() -> None:
    other = case("a.py::other")
    assert sample_of([case("a.py::marked", sample=0), other]) == [other]


def test_the_blocks_of_a_page_are_in_one_slice() -> None:
    blocks = [case(f"docs/guides/a.md::line:{line},column:1") for line in range(1, 40)]
    slices = [in_slice(blocks, f"{at}/8") for at in range(8)]
    assert sorted(map(len, slices)) == [0] * 7 + [len(blocks)]
