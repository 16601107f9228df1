"""Reads a sweep of another tool from its file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ipulse.spec.document.file import SpecFile, read_spec_file
from ipulse_core.errors import Problem

from .config import InvalidSweep
from .determined import translate_determined
from .translation import SweepTranslation
from .wandb import translate_wandb


def translate(path: Path, spec: Path) -> tuple[dict[str, Any], list[str]]:
    """Return the sweep of a file of W&B or Determined for a spec, and remarks.

    Raises InvalidSweep for a file that is neither, or a sweep that is not valid here, and
    InvalidSpec and InvalidInput for files that cannot be read.
    """
    file, base = read_spec_file(path), read_spec_file(spec)
    base.spec()
    given = file.value
    if not isinstance(given, dict):
        raise _unknown(file)
    name = given.get("name") or path.stem
    translation = SweepTranslation(str(name)[:128], base.value)
    try:
        if "parameters" in given:
            translate_wandb(given, translation)
        elif "hyperparameters" in given and "searcher" in given:
            translate_determined(given, translation)
        else:
            raise _unknown(file)
    except OverflowError as error:
        raise _refused("out_of_range", f"{file.name}: a number is too large") from error
    return translation.finished(), translation.remarks


def _unknown(file: SpecFile) -> InvalidSweep:
    return _refused(
        "wrong_form",
        f"{file.name}: neither a sweep of W&B (method, parameters) nor an experiment of Determined "
        "(hyperparameters, searcher)",
    )


def _refused(code: str, detail: str) -> InvalidSweep:
    return InvalidSweep([Problem("", code, detail)], detail)
