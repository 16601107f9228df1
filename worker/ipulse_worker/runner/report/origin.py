"""How to get the same result again."""

from __future__ import annotations

import json
from html import escape
from typing import Dict, Sequence, Tuple

from ipulse.spec import spec_to_json
from ipulse_worker.runner.report.tables import definitions
from ipulse_worker.runner.results.results import Results


def origin(results: Results) -> Dict[str, str]:
    profile, git = results.profile, results.git
    target, versions = profile["compilation"]["target"], profile["versions"]
    said = profile["compilation"]["kernel"].items()
    kernel = ", ".join(v if k == "kernel" else f"{k} {v}" for k, v in said)
    revision = git["commit"] or f"not known: {git['why']}"
    if git["modified"]:
        revision += " with local changes"
    resumed = profile["attempt"]["resumed_from_step"]
    facts: Sequence[Tuple[str, str]] = [
        ("Seed", str(results.spec.seed)),
        ("Spec SHA-256", results.spec_sha256),
        ("Job", f"{results.job_id}, attempt {results.attempt}"),
        ("Resumed", f"from the checkpoint at step {resumed:,}" if resumed else "no"),
        ("Processor", f"{target['model']}, {target['cores']} cores, {target['threads']} threads"),
        ("Kernel", kernel),
        ("Software", ", ".join(f"{name} {version}" for name, version in versions.items())),
        ("Git revision", revision),
        *((f"metadata: {key}", value) for key, value in results.spec.metadata.items()),
    ]
    tiles = "" if results.poplar_profile is None else "poplar_profile.json (of each tile), "
    shown = json.dumps(spec_to_json(results.spec), indent=2, ensure_ascii=False)
    return {
        "facts": definitions(facts),
        "spec": escape(shown),
        "footer": escape(
            f"Beside this page: profile.json (time, activity, memory), {tiles}trace.json.gz (for "
            "Perfetto), metrics.jsonl, weights.npz, network.nir, and manifest.json with the "
            "digest of each."
        ),
    }
