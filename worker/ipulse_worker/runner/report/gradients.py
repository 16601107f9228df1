"""Active gradients, learning rate, second thresholds, capacities and dropped spikes by epoch."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence

from ipulse_core.numbers import plain_number
from ipulse_core.spec.layer_names import shown_names
from ipulse_worker.runner.model.weight_names import spiking_names
from ipulse_worker.runner.report.plots import charts
from ipulse_worker.runner.report.quantities import count
from ipulse_worker.runner.report.tables import ReportTable
from ipulse_worker.runner.results.results import Results

MOST_ROWS = 12  # of the table


def gradients(results: Results) -> Dict[str, Any]:
    """Return the values of sections/gradients.html."""
    history = results.history
    names, shown = spiking_names(results.spec), shown_names(results.spec.network)
    epochs = list(range(1, len(history.epochs("loss")) + 1))
    fractions: List[charts.Series] = [
        (
            shown[name],
            charts.layer_class(at),
            [100 * s for s in history.epochs(f"gradient_set/{name}")],
        )
        for at, name in enumerate(names, start=1)
    ]
    # In thousandths: the numbers of the axis have room for three digits.
    rates: List[charts.Series] = [
        ("learning rate", "train", [1000 * rate for rate in history.epochs("learning_rate")])
    ]
    return {
        "fraction_plot": charts.curves(
            fractions,
            epochs,
            "epoch",
            "active gradients (%)",
            charts.zero_range(fractions),
            "Active-gradient fraction of each layer over the epochs",
            whole=True,
        ),
        "learning_rate_plot": charts.curves(
            rates,
            epochs,
            "epoch",
            "learning rate × 1000",
            charts.zero_range(rates),
            "Learning rate of each epoch's last step",
            whole=True,
        ),
        "table": _table(results, names),
        "exact": _compared(results),
    }


def _table(results: Results, names: Sequence[str]) -> ReportTable:
    shown = shown_names(results.spec.network)
    records = [r for r in results.history.records if r["scope"] == "epoch"]
    heads = ["epoch", "learning rate"]
    for name in names:
        heads.append(f"{shown[name]}: dropped spikes")
        if f"second_threshold/{name}" in records[0]:
            heads.append("second threshold")
        if f"capacity/{name}" in records[0]:
            heads.append("capacity")
    rows = []
    for record in _selected(records):
        row = [str(record["epoch"]), plain_number(record["learning_rate"], 3)]
        for name in names:
            row.append(count(record[f"overflow/{name}"]))
            if f"second_threshold/{name}" in record:
                row.append(plain_number(record[f"second_threshold/{name}"], 3))
            if f"capacity/{name}" in record:
                row.append(count(record[f"capacity/{name}"]))
        rows.append(row)
    return ReportTable(heads, rows)


def _compared(results: Results) -> Optional[ReportTable]:
    """Return the comparison with exact gradients, if there is one."""
    if not results.exact_gradients:
        return None
    shown, rows = shown_names(results.spec.network), []
    for name, cosine, length in results.exact_gradients:
        key, _, array = name.replace("layer_", "", 1).replace(".", "_", 1).partition("_")
        title = f"{shown[key]}: {array.replace('_', ' ') or 'weights'}"
        rows.append([title, plain_number(cosine, 3), plain_number(length, 3)])
    return ReportTable(["gradient of", "cosine to the exact one", "relative length"], rows)


def _selected(records: List[Dict[str, float]]) -> List[Dict[str, float]]:
    """Return at most MOST_ROWS records, evenly spaced, with the first and the last."""
    if len(records) <= MOST_ROWS:
        return records
    last = MOST_ROWS - 1
    return [records[round(at * (len(records) - 1) / last)] for at in range(MOST_ROWS)]
