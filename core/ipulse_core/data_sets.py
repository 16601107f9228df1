"""Which data sets a data directory contains, by the names of their files.

docs/reference/data.md describes the files. Their content is checked by the runner that reads them.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Dict, FrozenSet, Iterator, List, Sequence, Tuple

# For each kind of data set that consists of a folder: alternatives, each a list of names in it.
LAYOUTS: Dict[str, Sequence[Tuple[str, ...]]] = {
    "shd": (("shd_train.h5", "shd_test.h5"),),
    "ssc": (("ssc_train.h5", "ssc_test.h5"), ("ssc_train.h5", "ssc_valid.h5")),
    "n_mnist": (("Train", "Test"),),
    "dvs_gesture": (
        ("trials_to_train.txt", "trials_to_test.txt"),
        ("ibmGestureTrain", "ibmGestureTest"),
    ),
}
# An agent links the folder with the files of uploaded data into the work directory of the attempt.
UPLOADED_FOLDER = "dataset"
UPLOADED_NAME = "data"  # of the file, without suffix, or of the folder in it
NPZ = "npz"  # the kind of data set that is one file, NAME.npz
KINDS_IN_FILES: FrozenSet[str] = frozenset({NPZ, *LAYOUTS})

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"  # of data sets, in specs and of uploads
_NAME = re.compile(NAME_PATTERN[1:-1])


def key_of(kind: str, name: str) -> str:
    """Returns the key of a data set, which is unique in a data directory."""
    return f"{kind}/{name}"


def kinds_in(folder: Path) -> Iterator[str]:
    """Yields the kinds of data sets in a folder, by the names in it."""
    for kind, layouts in LAYOUTS.items():
        if any(all((folder / name).exists() for name in names) for names in layouts):
            yield kind


def keys_in(directory: Path) -> List[str]:
    """Returns the keys of the data sets in a directory, sorted.

    Raises:
        OSError: the directory cannot be read.
    """
    with os.scandir(str(directory)) as entries:
        names = [entry.name for entry in entries]
    outside = set(links_outside(directory))
    return sorted(key for name in names if name not in outside for key in _keys_of(directory, name))


def links_outside(directory: Path) -> List[str]:
    """Returns the names of links that leave a directory, sorted: a runner does not follow them.

    Raises:
        OSError: the directory cannot be read.
    """
    root = os.path.join(os.path.realpath(str(directory)), "")
    with os.scandir(str(directory)) as entries:
        return sorted(
            entry.name
            for entry in entries
            if entry.is_symlink() and not os.path.realpath(entry.path).startswith(root)
        )


def _keys_of(directory: Path, name: str) -> Iterator[str]:
    stem, dot, suffix = name.rpartition(".")
    if dot and suffix == NPZ and _NAME.fullmatch(stem):
        if (directory / name).is_file():
            yield key_of(NPZ, stem)
    elif _NAME.fullmatch(name):
        for kind in kinds_in(directory / name):
            yield key_of(kind, name)
