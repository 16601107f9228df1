"""Specs of scripts."""

from __future__ import annotations

from typing import Any

import pytest

from ipulse.spec import parse_job_spec
from ipulse_core.errors import InvalidSpec


def parse(**changes: Any) -> Any:
    spec = {"version": 2, "kind": "script", "script": "a.py", "package": f"sha256:{'0' * 64}"}
    return parse_job_spec({**spec, **changes})


def test_outfeeds_are_names_of_metrics() -> None:
    assert parse(outfeeds=["loss", "layer.1/norm"]).outfeeds == ("loss", "layer.1/norm")


@pytest.mark.parametrize(
    ("names", "path"),
    [(["a", "a"], "/outfeeds/1"), (["step"], "/outfeeds/0"), (["a", "a,b"], "/outfeeds/1")],
)
def test_names_that_metrics_cannot_have_are_refused(names: list[str], path: str) -> None:
    with pytest.raises(InvalidSpec) as error:
        parse(outfeeds=names)
    assert [problem.pointer for problem in error.value.problems] == [path]


def test_more_ipus_than_are_emulated_are_refused() -> None:
    with pytest.raises(InvalidSpec) as error:
        parse(device={"ipus": 65})
    assert [problem.pointer for problem in error.value.problems] == ["/device/ipus"]
