"""webhook add, list, test, deliveries and delete, of a service whose operator allows no host."""

from __future__ import annotations

import pytest

from tests.ipulse.cli.conftest import Run


def test_hosts_must_be_on_the_list_of_the_operator(run: Run) -> None:
    refused = run("webhook", "add", "https://hooks.example.org/x", "--json")
    assert refused.code == 2
    assert refused.json["error"]["problems"][0]["pointer"] == "/url"
    assert "IPULSE_WEBHOOK_HOSTS" in refused.err
    assert run("webhook", "list", "--json").json == {"webhooks": []}


@pytest.mark.parametrize("command", [["test"], ["deliveries"], ["delete", "--yes"]])
def test_an_unknown_webhook_is_not_found(run: Run, command: list[str]) -> None:
    name, *options = command
    for webhook in ("whk_0b5c2e6f7a8d9c1e2f3a4b5c", "../tokens", "%2e%2e"):
        assert run("webhook", name, webhook, *options).code == 3
