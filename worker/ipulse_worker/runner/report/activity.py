"""Spiking activity: one sample in full, and firing rates of all samples."""

from __future__ import annotations

from typing import Any, Dict, List

from ipulse_core.spec.derived_values import input_channels
from ipulse_core.spec.layer_names import shown_names
from ipulse_worker.runner.report.plots import charts
from ipulse_worker.runner.report.plots.raster_plot import raster_plot
from ipulse_worker.runner.report.quantities import percent
from ipulse_worker.runner.results.results import Results


def one_sample(results: Results) -> Dict[str, Any]:
    """Return the values of sections/sample.html."""
    trace = results.sample_traces[0]
    image = None
    if trace.image is not None:
        image = charts.grey_image(trace.image, f"The encoded image, of class {trace.label}")
    return {
        "label": trace.label,
        "predicted": trace.predicted,
        "readout_spikes": results.spec.network.readout.kind == "spiking",
        "image": image,
        "raster_plot": raster_plot(
            trace,
            results.sizes,
            results.spec.data.step_ms,
            [*shown_names(results.spec.network).values()],
        ),
    }


def activity(results: Results) -> Dict[str, Any]:
    """Return the values of sections/activity.html."""
    history, evaluation, spec = results.history, results.evaluation, results.spec
    hidden, shown = range(1, len(spec.network.layers) + 1), shown_names(spec.network)
    epochs = list(range(1, len(history.epochs("loss")) + 1))
    by_epoch: List[charts.Series] = [
        (
            shown[str(n)],
            charts.layer_class(n),
            [100 * r for r in history.epochs(f"firing_rate/{n}")],
        )
        for n in hidden
    ]
    input_rate = 100 * evaluation.input_spikes_by_step / input_channels(spec.data)
    by_time: List[charts.Series] = [("input", "s0", input_rate.tolist())]
    for n in hidden:
        rate = 100 * evaluation.spikes_by_step[n - 1] / results.sizes[n]
        by_time.append((shown[str(n)], charts.layer_class(n), rate.tolist()))
    times = [(step + 1) * spec.data.step_ms for step in range(spec.data.steps)]
    y_label = "neurons spiking per step (%)"
    return {
        "rates": [
            f"{percent(rate, 2)} in {'the readout' if shown[name] == 'readout' else shown[name]}"
            for name, rate in zip(evaluation.metrics.names, evaluation.metrics.firing_rates)
        ],
        "rate_plot": charts.curves(
            by_epoch,
            epochs,
            "epoch",
            y_label,
            charts.zero_range(by_epoch),
            "Firing rate of each hidden layer over the epochs",
            whole=True,
        ),
        "time_plot": charts.curves(
            by_time,
            times,
            "time (ms)",
            y_label,
            charts.zero_range(by_time),
            "Firing rate of input and hidden layers within a sample",
        ),
    }
