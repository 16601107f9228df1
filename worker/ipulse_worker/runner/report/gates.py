"""What training was done with, epoch by epoch: learning rate, second thresholds, gradient sets,
slots and the spikes that found none."""

from __future__ import annotations

from html import escape
from typing import Dict, List

from ipulse_worker.runner.model.network import spiking_names
from ipulse_worker.runner.report import plots
from ipulse_worker.runner.report.quantities import count
from ipulse_worker.runner.report.tables import table
from ipulse_worker.runner.results.results import Results


def gates(results: Results) -> Dict[str, str]:
    history = results.history
    names = spiking_names(results.spec)
    epochs = list(range(1, len(history.epochs("loss")) + 1))
    shares: List[plots.Series] = [
        (
            _called(name),
            plots.layer_class(at),
            [100 * s for s in history.epochs(f"gradient_set/{name}")],
        )
        for at, name in enumerate(names, start=1)
    ]
    # In thousandths: the numbers of the axis have the room of three digits.
    rates: List[plots.Series] = [
        ("learning rate", "train", [1000 * rate for rate in history.epochs("learning_rate")])
    ]
    return {
        "gates_words": escape(
            "The gradient set is the neurons that carry gradient: those that spike or lie above "
            "the second threshold, and found a slot. The table has the first, the last and up to "
            "ten epochs between; second thresholds that differ from neuron to neuron are shown by "
            "their mean."
        ),
        "gradient_plot": plots.curves(
            shares,
            epochs,
            "epoch",
            "neurons with gradient (%)",
            plots.zero_range(shares),
            "Gradient set of each layer over the epochs",
            whole=True,
        ),
        "rate_of_learning_plot": plots.curves(
            rates,
            epochs,
            "epoch",
            "learning rate × 1000",
            plots.zero_range(rates),
            "Learning rate of each epoch's last step",
            whole=True,
        ),
        "gate_table": _table(results, names),
    }


def _table(results: Results, names: List[str]) -> str:
    records = [r for r in results.history.records if r["scope"] == "epoch"]
    heads = ["epoch", "learning rate"]
    for name in names:
        heads.append(f"{_called(name)}: dropped")
        if f"second_threshold/{name}" in records[0]:
            heads.append("second threshold")
        if f"capacity/{name}" in records[0]:
            heads.append("slots")
    rows = []
    for record in _some(records):
        row = [str(record["epoch"]), f"{record['learning_rate']:.3g}"]
        for name in names:
            row.append(count(record[f"overflow/{name}"]))
            if f"second_threshold/{name}" in record:
                row.append(f"{record[f'second_threshold/{name}']:.3g}")
            if f"capacity/{name}" in record:
                row.append(count(record[f"capacity/{name}"]))
        rows.append(row)
    return table(heads, rows)


def _some(records: List[Dict[str, float]]) -> List[Dict[str, float]]:
    """At most twelve, evenly spread, the first and the last among them."""
    if len(records) <= 12:
        return records
    return [records[round(at * (len(records) - 1) / 11)] for at in range(12)]


def _called(name: str) -> str:
    return name if name == "readout" else f"layer {name}"
