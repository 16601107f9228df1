"""Who spikes and when: one sample in full, and the rates of all."""

from __future__ import annotations

from html import escape
from typing import Dict, List

from ipulse.spec import SpikingReadout
from ipulse_worker.runner.report import plots
from ipulse_worker.runner.report.quantities import listed, percent
from ipulse_worker.runner.report.raster_plot import raster_plot
from ipulse_worker.runner.results.results import Results


def one_sample(results: Results) -> Dict[str, str]:
    raster = results.raster
    right = raster.label == raster.predicted
    verdict = (
        f'Predicted <i class="{"ok" if right else "bad"}">{raster.predicted}</i>, '
        f"which is {'right' if right else f'wrong: it is a {raster.label}'}"
    )
    picture = ""
    if raster.image is not None:
        picture = plots.picture(raster.image, f"What was encoded, of class {raster.label}")
    return {
        "readout_words": (
            "of the readout the membranes are shown, not the spikes that are counted."
            if isinstance(results.spec.network.readout, SpikingReadout)
            else "the readout integrates and never spikes."
        ),
        "sample": f'<div class="sample">{picture}<p class="verdict">{verdict}</p></div>',
        "raster_plot": raster_plot(raster, results.sizes, results.spec.data.step_ms),
    }


def activity(results: Results) -> Dict[str, str]:
    history, judgement, spec = results.history, results.judgement, results.spec
    hidden = range(1, len(spec.network.layers) + 1)
    epochs = list(range(1, len(history.epochs("loss")) + 1))
    by_epoch: List[plots.Series] = [
        (f"layer {n}", plots.layer_class(n), [100 * r for r in history.epochs(f"firing_rate/{n}")])
        for n in hidden
    ]
    by_time: List[plots.Series] = [
        ("input", "s0", (100 * judgement.input_spikes_by_step / spec.data.inputs).tolist())
    ]
    for n in hidden:
        rate = 100 * judgement.spikes_by_step[n - 1] / spec.network.layers[n - 1].neurons
        by_time.append((f"layer {n}", plots.layer_class(n), rate.tolist()))
    times = [(step + 1) * spec.data.step_ms for step in range(spec.data.steps)]
    rates = [
        f"{percent(rate, 2)} of layer {n}"
        for n, rate in enumerate(judgement.tally.firing_rates, start=1)
    ]
    y_label = "neurons spiking per step (%)"
    return {
        "activity_words": escape(
            f"Of the neurons, {listed(rates)} spike in a step of a held-out sample. The kernels' "
            "work grows with these numbers."
        ),
        "rate_plot": plots.curves(
            by_epoch,
            epochs,
            "epoch",
            y_label,
            plots.zero_range(by_epoch),
            "Firing rate of each hidden layer over the epochs",
            whole=True,
        ),
        "time_plot": plots.curves(
            by_time,
            times,
            "time (ms)",
            y_label,
            plots.zero_range(by_time),
            "Firing rate of input and hidden layers within a sample",
        ),
    }
