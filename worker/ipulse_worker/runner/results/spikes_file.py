"""spikes.json: the spikes of selected test samples, and each neuron's firing rate."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

import numpy as np

from ipulse_core.spec.layer_names import shown_names
from ipulse_worker.runner.model.weight_names import spiking_names
from ipulse_worker.runner.results.results import Results, SampleTrace

SCHEMA = "ipulse.spikes/1"


def spikes_document(results: Results) -> Dict[str, Any]:
    """Return the document; its fields are in docs/reference/files.md."""
    activity, spec = results.neuron_activity, results.spec
    names, shown = spiking_names(spec), shown_names(spec.network)
    steps = activity.samples * activity.steps
    return {
        "schema": SCHEMA,
        "steps": spec.data.steps,
        "step_ms": spec.data.step_ms,
        "input": {"channels": results.sizes[0]},
        "measured_samples": activity.samples,
        "layers": [
            {
                "layer": name if name == "readout" else int(name),
                "name": shown[name],
                "neurons": len(spikes),
                "firing_rates": [round(count / steps, 6) for count in spikes.tolist()],
                "dead": activity.dead(at),
                "saturated": activity.saturated(at),
                "needed_capacity": activity.needed_capacity[at],
            }
            for at, (name, spikes) in enumerate(zip(names, activity.spikes))
        ],
        "samples": [_sample(trace) for trace in results.sample_traces],
    }


def _sample(trace: SampleTrace) -> Dict[str, Any]:
    panels = [trace.input_spikes, *trace.layer_spikes]
    membrane: List[List[float]] = [
        [float(f"{value:.4g}") for value in row] for row in trace.membrane.T.tolist()
    ]
    targets: Optional[List[Any]] = None
    if trace.targets is not None:
        by_output = np.atleast_2d(trace.targets).T  # one value, or one of each step
        targets = [[float(f"{value:.4g}") for value in row] for row in by_output.tolist()]
    return {
        "sample": trace.sample,
        "label": trace.label,
        "predicted": trace.predicted,
        **({} if targets is None else {"targets": targets}),
        "spikes": [
            {"steps": spikes[:, 0].tolist(), "neurons": spikes[:, 1].tolist()} for spikes in panels
        ],
        "readout_membrane": membrane,
    }
