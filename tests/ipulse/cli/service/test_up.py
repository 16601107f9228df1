"""up: the variables that a stack gets from its options."""

from __future__ import annotations

import pytest

from ipulse.cli.commands.service import up

NAME = "IPULSE_OWNER_SUBMITS_CODE"


@pytest.mark.parametrize(
    ("host", "no_code", "variable", "expected"),
    [
        ("127.0.0.1", False, None, {NAME: "1"}),
        ("127.0.0.1", False, "0", {}),
        ("127.0.0.1", True, "1", {NAME: "0"}),
        ("192.0.2.1", False, None, {}),
        ("192.0.2.1", True, "1", {NAME: "0"}),
    ],
)
def test_an_option_comes_before_a_variable_when_the_owner_submits_code(
    monkeypatch: pytest.MonkeyPatch,
    host: str,
    no_code: bool,
    variable: str | None,
    expected: dict[str, str],
) -> None:
    monkeypatch.delenv(NAME, raising=False)
    if variable is not None:
        monkeypatch.setenv(NAME, variable)
    monkeypatch.setattr(up, "_has_sandbox", lambda: True)
    assert up._owner_code(host, no_code) == expected
