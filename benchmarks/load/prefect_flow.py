"""The flow whose runs are Prefect's jobs; Prefect's own environment runs it."""

from __future__ import annotations

from prefect import flow

from benchmarks.load.payload import Order, carry_out


@flow(name="load", log_prints=True)
def run(order: str) -> None:
    # `print` by its name: Prefect replaces it while the flow runs, after the payload's import.
    carry_out(Order.from_json(order), say=lambda line: print(line))
