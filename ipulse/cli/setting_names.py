"""Names of the fields of a spec, as `--set` and `--vary` take them, for completion in a shell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from ipulse_core import strict_json

_LAYER = re.compile(r"\[[0-9]+\]")


def setting_names() -> list[str]:
    """Return the paths of all fields, and the last names of those that are unique."""
    from ipulse.spec.field_tree import fields_of

    paths = list(dict.fromkeys(fields_of({"version": 2, "network": {"layers": [{}]}})))
    counts = Counter(path[-1] for path in paths)
    short = [path[-1] for path in paths if counts[path[-1]] == 1]
    return list(dict.fromkeys([*short, *map(strict_json.dotted, paths)]))


def offered_settings(names: Sequence[str], begun: str) -> list[str]:
    """Return the beginnings of settings, such as `epochs=`, that continue a text.

    The text may begin in the middle of a path, at any layer: `layers[1].neu`.
    """
    if "=" in begun:
        return []
    plain = _LAYER.sub("[0]", begun)
    is_path = plain != begun or "." in begun or "[" in begun
    found = []
    for name in names:
        if name.startswith(plain) and (begun or "." not in name):
            found.append(f"{begun}{name[len(plain) :]}=")
        elif is_path and f".{plain}" in name:
            found.append(f"{begun}{name.partition(f'.{plain}')[2]}=")
    return list(dict.fromkeys(found))
