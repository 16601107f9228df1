"""Which tests of routes `make test` repeats on PostgreSQL; `make verify` repeats them all."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent
# Files about queries, their order and races, and two that reach every operation.
REPEATED = {
    f"test_{name}.py"
    for name in (
        *("comparison", "curves", "dependencies", "events", "filters", "finishing"),
        *("idempotency", "job_batches", "job_columns", "job_list", "queue", "scheduling"),
        *("search", "search_changes", "search_lineage", "wake_ups", "worker_leases"),
        *("conformance", "schema_runs"),
    )
}


def is_left_to_verify(item: pytest.Item) -> bool:
    if HERE not in item.path.parents or item.path.name in REPEATED:
        return False
    parameters = getattr(item, "callspec", None) and item.callspec.params
    return bool(parameters) and parameters.get("database_settings") == "postgresql"


@pytest.hookimpl(tryfirst=True)  # before pytest selects by marker
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in filter(is_left_to_verify, items):
        item.add_marker(pytest.mark.verify)
