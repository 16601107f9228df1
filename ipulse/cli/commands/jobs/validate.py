"""validate: reads a spec file and reports its problems with their lines, without a service."""

from __future__ import annotations

import hashlib

from ipulse.cli.commands.jobs.programs import is_program, local_reference, program_of
from ipulse.cli.exits import Exit
from ipulse.cli.options import AsJSON, Settings, SpecPath
from ipulse.cli.terminal import emit, show, show_facts
from ipulse.spec import AnySpec, ExperimentSpec, PoplarProgramSpec, spec_to_json
from ipulse.spec.document.file import read_spec_file
from ipulse.spec.document.settings import spec_of
from ipulse.spec.sizes import layer_sizes, weight_count
from ipulse.spec.tile_fit import fit_text, tile_fit
from ipulse_core import strict_json


def validate(file: SpecPath, settings: Settings = None, as_json: AsJSON = False) -> Exit:
    """Check a spec in YAML or JSON, without a service.

    For emulated IPUs and IPUs the memory of the fullest tile is predicted. With --json one object
    is printed: valid, the spec with every default filled in, its SHA-256, and the prediction.
    """
    read = read_spec_file(file)
    spec: AnySpec
    if is_program(read):
        spec = program_of(read, settings, local_reference)
    else:
        spec = spec_of(read, settings)
    document = spec_to_json(spec)
    fit = tile_fit(spec) if isinstance(spec, ExperimentSpec) else None
    text = strict_json.dumps(document)
    digest = hashlib.sha256(text.encode()).hexdigest()
    if as_json:
        predicted = None if fit is None else fit.to_json()
        emit({"valid": True, "spec": document, "spec_sha256": digest, "fit": predicted})
        return Exit.OK
    show(f"{file} is valid.")
    if isinstance(spec, PoplarProgramSpec):
        show_facts(
            [
                ("name", spec.name),
                ("program", ", ".join(spec.sources)),
                ("package", spec.package),
                ("device", f"{spec.device.kind}, {spec.device.ipus} IPUs"),
                ("sha256", digest),
            ]
        )
        return Exit.OK
    training = spec.training
    show_facts(
        [
            ("name", spec.name),
            ("network", " - ".join(f"{size:,}" for size in layer_sizes(spec))),
            ("weights", f"{weight_count(spec):,}"),
            ("training", f"{training.epochs:,} epochs in batches of {training.batch_size:,}"),
            ("device", spec.device.kind),
            ("memory", fit_text(fit) if fit is not None else ""),
            ("sha256", digest),
        ]
    )
    return Exit.OK
