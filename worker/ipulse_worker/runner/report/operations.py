"""Synaptic operations, sparsity and estimated energy, as a paper lists them."""

from __future__ import annotations

from typing import Any, Dict

from ipulse_core.numbers import plain_number
from ipulse_worker.runner.report.quantities import percent
from ipulse_worker.runner.report.tables import ReportTable
from ipulse_worker.runner.results.results import Results


def operations(results: Results) -> Dict[str, Any]:
    """Return the values of sections/operations.html."""
    found = results.profile["operations"]
    values = {
        "parameters": found["parameters"],
        "footprint": found["footprint_bytes"],
        "activation_sparsity": percent(found["activation_sparsity"], 2),
        "connection_sparsity": percent(found["connection_sparsity"], 2),
        "seconds": found["measured_seconds"],
        "not_counted": found.get("not_counted", ""),
    }
    if values["not_counted"]:
        return values
    sums = {**found, "name": "all"}
    columns = ("dense", "synops", "effective", "neuron_updates")
    rows = [
        [row["name"], *(f"{row[name]:,.0f}" for name in columns)]
        for row in [*found["layers"], sums]
    ]
    heads = ["layer", "dense", "SynOps", "effective", "neuron updates"]
    energy = [
        [
            one["table"] + (f", {one['number']}" if "number" in one else ""),
            f"{plain_number(one['nj'])} nJ",
            f"{plain_number(one['dense_nj'])} nJ" if "dense_nj" in one else "–",
            one["assumption"],
        ]
        for one in found["energy"]
    ]
    titles = ["table", "this network", "dense network, every step", "assumption"]
    return {
        **values,
        "samples": found["samples"],
        "table": ReportTable(heads, rows, has_sum=True),
        "energy": ReportTable(titles, energy, text_columns=(3,)),
    }
