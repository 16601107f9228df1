"""Any number or text that a field accepts, from its limits."""

from __future__ import annotations

import string
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from ipulse.models import MAX_INTEGER, MAX_TEXT, PRINTABLE
from ipulse.spec.data.file_fields import DATASET_REFERENCE, OPTIONAL_NAME
from ipulse_core.events import FILE_NAME
from ipulse_core.limits import POOL, TRIMMED
from ipulse_core.manifest import SHA256
from ipulse_core.registry.layer_paths import LAYER_NAME
from ipulse_core.spec.custom_ops import REFERENCE as OP_REFERENCE

# Every character that a text field accepts: no lone surrogate, no control character.
CHARACTERS = st.characters(blacklist_categories=("Cs", "Cc"))
NAME_CHARACTERS = string.ascii_letters + string.digits + "._-"


def integers(limits: Mapping[str, Any]) -> st.SearchStrategy[int]:
    least, most = limits.get("ge"), limits.get("le")
    return st.integers(
        -MAX_INTEGER if least is None else int(least),
        MAX_INTEGER if most is None else int(most),
    )


def floats(limits: Mapping[str, Any]) -> st.SearchStrategy[float]:
    least = limits["ge"] if limits.get("ge") is not None else limits.get("gt")
    most = limits["le"] if limits.get("le") is not None else limits.get("lt")
    return st.floats(
        None if least is None else float(least),
        None if most is None else float(most),
        exclude_min=limits.get("ge") is None and limits.get("gt") is not None,
        exclude_max=limits.get("le") is None and limits.get("lt") is not None,
        allow_nan=False,
        allow_infinity=False,
    )


def texts(limits: Mapping[str, Any]) -> st.SearchStrategy[str]:
    most = min(limits.get("max_length") or MAX_TEXT, 40)
    pattern = limits.get("pattern", PRINTABLE)
    if pattern == PRINTABLE:
        return st.text(CHARACTERS, max_size=most)
    if pattern == FILE_NAME:
        return st.text(NAME_CHARACTERS, min_size=1, max_size=most).filter(lambda s: s[0].isalnum())
    if pattern == SHA256:
        return st.text("0123456789abcdef", min_size=64, max_size=64)
    if pattern == OPTIONAL_NAME:
        return st.sampled_from(["", "mine", "a.b-c_d"])
    if pattern == DATASET_REFERENCE:
        return st.sampled_from(["mine", "a.b-c@17", f"sha256:{'0f' * 32}"])
    if pattern == OP_REFERENCE:
        return st.sampled_from([f"{name}@sha256:{'0f' * 32}" for name in ("op", "_Op2")])
    if pattern == LAYER_NAME:
        return st.sampled_from(["hidden", "block 1.conv-a"])
    if pattern == POOL:
        return st.sampled_from(["default", "lab", "room-2.a"])
    assert pattern == TRIMMED
    return st.text(CHARACTERS, min_size=1, max_size=most).filter(lambda s: s == s.strip())
