"""The versions, seed and spec that reproduce the result."""

from __future__ import annotations

import json
from typing import Any, Dict, Iterator, Optional, Tuple

from ipulse_core.spec.resolved_spec import spec_document
from ipulse_ops.kernel_generation import KERNEL_GENERATION
from ipulse_worker.runner.results.nir_export import left_out, not_written
from ipulse_worker.runner.results.results import Results
from ipulse_worker.runner.training.platforms import PlatformHistory

EVERY_CPU = (
    f"The same spec gives the same metrics, bit for bit, with kernel generation "
    f"{KERNEL_GENERATION}, on every x86-64 CPU, for any number of threads and interruptions, and "
    f"with every supported version of TensorFlow."
)
THIS_PLATFORM = (
    "The same spec gives the same metrics, bit for bit, with these versions, this kernel and this "
    "model of processor, for any number of threads and interruptions."
)


def reproduction(results: Results) -> Dict[str, Any]:
    """Return the values of sections/reproduction.html."""
    profile, git = results.profile, results.git
    target, versions = profile["compilation"]["target"], profile["versions"]
    kernel = profile["compilation"]["kernel"].items()
    revision = git["commit"] or f"not known: {git['why']}"
    if git["modified"]:
        revision += " with local changes"
    resumed = profile["attempt"]["resumed_from_step"]
    return {
        "facts": [
            ("Seed", str(results.spec.seed)),
            ("Spec SHA-256", results.spec_sha256),
            ("Job", f"{results.job_id}, attempt {results.attempt}"),
            ("Resumed", f"from the checkpoint at step {resumed:,}" if resumed else "no"),
            (
                "Processor",
                f"{target['model']}, {target['cores']} cores, {target['threads']} threads",
            ),
            ("Kernel", ", ".join(v if k == "kernel" else f"{k} {v}" for k, v in kernel)),
            ("Software", ", ".join(f"{name} {version}" for name, version in versions.items())),
            ("Git revision", revision),
            ("Initial weights", _initial_weights(results.start)),
            ("network.nir leaves out", _left_out(results)),
            *_exports(results),
            *((f"metadata: {key}", value) for key, value in results.spec.metadata.items()),
        ],
        "spec": json.dumps(spec_document(results.spec), indent=2, ensure_ascii=False),
        "is_on_one_platform": not PlatformHistory(profile["attempt"]["platforms"]).others(),
        "promise": EVERY_CPU if results.spec.device.kind == "cpu" else THIS_PLATFORM,
        "has_tile_profile": results.poplar_profile is not None,
    }


def _initial_weights(start: Optional[Dict[str, Any]]) -> str:
    if start is None:
        return "drawn"
    origin = "another job" if start["source"] == "job" else start["file"]
    drawn = f", except {', '.join(start['initialised'])}" if start["initialised"] else ""
    return f"from {origin}, SHA-256 {start['sha256']}{drawn}"


def _left_out(results: Results) -> str:
    reason = not_written(results.spec)
    if reason is not None:
        return f"not written: {reason}"
    return "; ".join(left_out(results.spec)) or "nothing"


def _exports(results: Results) -> Iterator[Tuple[str, str]]:
    for export in results.nir_exports:
        missing = "; ".join(export.left_out) or "nothing"
        yield f"{export.file} leaves out", missing if export.written else f"not written: {missing}"
