from __future__ import annotations

from typing import Any, Dict

import numpy as np

from ipulse_worker.runner.report.plots.raster_plot import MAX_NEURONS, MAX_SPIKES, raster_plot
from ipulse_worker.runner.results.results import SampleTrace


def raster(**changes: Any) -> SampleTrace:
    given: Dict[str, Any] = {
        "sample": 5,
        "image": np.zeros((8, 8)),
        "label": 3,
        "predicted": 3,
        "input_spikes": np.array([[0, 1], [2, 63]]),
        "layer_spikes": [np.array([[1, 0]])],
        "membrane": np.linspace(-1, 1, 40).reshape(4, 10),
    }
    return SampleTrace(**{**given, **changes})


class TestRasterPlot:
    def test_draws_every_spike_of_a_small_layer(self) -> None:
        svg = raster_plot(raster(), (64, 8, 10), 1.0, ["layers[0]", "readout"])
        marks = [path.split("/>")[0].count("M") for path in svg.split('<path class="spikes')[1:]]
        assert marks == [2, 1]
        assert "2 spikes" in svg
        assert "1 spike<" in svg

    def test_names_the_true_class_next_to_a_wrong_prediction(self) -> None:
        right = raster_plot(raster(), (64, 8, 10), 1.0, ["layers[0]", "readout"])
        wrong = raster_plot(raster(predicted=8), (64, 8, 10), 1.0, ["layers[0]", "readout"])
        assert "3 (true)" in right
        assert "(predicted)" not in right
        assert "3 (true)" in wrong
        assert "8 (predicted)" in wrong

    def test_names_the_neurons_left_out_of_a_large_layer(self) -> None:
        step, neuron = np.divmod(np.arange(30 * 2000), 2000)
        spikes = np.stack([step, neuron], axis=1)
        svg = raster_plot(
            raster(layer_spikes=[spikes], membrane=np.zeros((30, 10))),
            (64, 2000, 10),
            1.0,
            ["layers[0]", "readout"],
        )
        assert f"{MAX_NEURONS} of 2,000" in svg
        assert "60,000 spikes" in svg
        drawn = svg.split('<path class="spikes')[2].split("/>")[0].count("M")
        assert drawn <= MAX_SPIKES
        assert f"{drawn:,} drawn" in svg
