"""validate: reads a spec file and reports its problems with their lines, without a service."""

from __future__ import annotations

import hashlib

from ipulse.cli.commands.jobs.programs import has_package, local_reference, with_package
from ipulse.cli.exits import Exit
from ipulse.cli.options import AsJSON, Settings, SpecPath
from ipulse.cli.terminal import emit, say, show, show_facts
from ipulse.spec import AnySpec, CodeSpec, ExperimentSpec, spec_to_json
from ipulse.spec.document.file import read_spec_file
from ipulse.spec.document.settings import spec_of
from ipulse.spec.sizes import layer_sizes, weight_count
from ipulse.spec.tile_fit import fit_text, tile_fit
from ipulse_core import strict_json
from ipulse_core.spec.nir_targets import nir_targets


def validate(file: SpecPath, settings: Settings = None, as_json: AsJSON = False) -> Exit:
    """Check a spec in YAML or JSON, without a service.

    For emulated IPUs and IPUs the memory of the fullest tile is predicted. With --json one object
    is printed: valid, the spec with every default filled in, its SHA-256, the prediction, and the
    simulators that can run its network from a NIR file.
    """
    read = read_spec_file(file)
    spec: AnySpec
    if has_package(read):
        spec = with_package(read, settings, local_reference)
    else:
        spec = spec_of(read, settings)
    document = spec_to_json(spec)
    fit = tile_fit(spec) if isinstance(spec, ExperimentSpec) else None
    targets = nir_targets(spec) if isinstance(spec, ExperimentSpec) else []
    text = strict_json.dumps(document)
    digest = hashlib.sha256(text.encode()).hexdigest()
    if as_json:
        predicted = None if fit is None else fit.to_json()
        facts = {"spec_sha256": digest, "fit": predicted, "nir_targets": targets}
        emit({"valid": True, "spec": document, **facts})
        return Exit.OK
    show(f"{file} is valid.")
    if isinstance(spec, CodeSpec):
        show_facts(
            [
                ("name", spec.name),
                ("program", ", ".join(spec.main_files)),
                ("package", spec.package),
                ("device", f"{spec.device.kind}, {spec.device.ipus} IPUs"),
                ("sha256", digest),
            ]
        )
        return Exit.OK
    training = spec.training
    sizes = layer_sizes(spec)
    is_known = 0 not in sizes  # what the data decide is 0
    shape = " - ".join(f"{size:,}" if size else "?" for size in sizes)
    show_facts(
        [
            ("name", spec.name),
            ("network", shape),
            ("weights", f"{weight_count(spec):,}" if is_known else "?"),
            ("training", f"{training.epochs:,} epochs in batches of {training.batch_size:,}"),
            ("device", spec.device.kind),
            ("NIR files", ", ".join(targets) or "none"),
            ("memory", fit_text(fit) if fit is not None else ""),
            ("sha256", digest),
        ]
    )
    if not is_known:
        say(
            "The shapes marked ? come from the data, which only the service or a worker reads: "
            "give data.channels and data.classes, or see `ipulse submit`."
        )
    return Exit.OK
