"""Checks a file that somebody uploaded: `python -m ipulse_core.data_files.check FILE FOLDER BYTES`.

It prints one line of JSON: the kind, the facts and a few samples of the data set, or why it is
refused, or what is wrong with this machine. FOLDER is an empty one in which archives are unpacked,
to at most BYTES. The process limits its own memory, processor time and files before it opens the
file, because anybody may have written that.
"""

from __future__ import annotations

import json
import sys
import zipfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, Tuple

from ipulse_core.sandbox.limited_process import MEMORY_BYTES, limit_process

_HEADER_BYTES = 4096


def main() -> int:
    """Check a file and print the result."""
    path, folder, max_bytes = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    limit_process()
    print(json.dumps(check(path, folder, max_bytes), allow_nan=False))  # noqa: T201 - the result
    return 0


def check(path: Path, folder: Path, max_bytes: int) -> Dict[str, Any]:
    """Return the kind, format, facts and previews of a file, or its refusal."""
    from ipulse_core.data_files.errors import DataUnavailable
    from ipulse_core.data_files.facts import examine

    try:
        with _opened(path, folder, max_bytes) as (packing, file):
            facts, previews = examine(file)
            return {
                "kind": file.kind,
                "facts": {"format": packing, **facts},
                "previews": previews,
            }
    except DataUnavailable as error:
        message = error.message
    except OSError as error:
        return {"trouble": f"{error.strerror or error}"}  # of this machine: it is tried again
    except MemoryError:
        message = f"reading it takes more than {MEMORY_BYTES >> 30} GiB of memory; divide it"
    # The names of the places where the service keeps it are no business of its owner.
    for place in (f"{folder}/data/", f"{folder}/unpacked/", f"{folder}/data", f"{folder}/"):
        message = message.replace(place, "")
    return {"refusal": message.replace(str(path), "the file")}


@contextmanager
def _opened(path: Path, folder: Path, max_bytes: int) -> Iterator[Tuple[str, Any]]:
    """Open a file by its content and yield its format and its samples."""
    from ipulse_core.data_files import archives
    from ipulse_core.data_files.csv.format import is_text
    from ipulse_core.data_files.csv.samples import opened_csv_samples
    from ipulse_core.data_files.errors import DataInvalid
    from ipulse_core.data_files.folder_samples import opened_folder_samples
    from ipulse_core.data_files.hdf5_samples import opened_hdf5_samples
    from ipulse_core.data_files.hdf5_structure import SIGNATURE
    from ipulse_core.data_files.npz_samples import opened_npz_samples

    with path.open("rb") as content:
        begin = content.read(_HEADER_BYTES)
    if begin.startswith(SIGNATURE):
        with opened_hdf5_samples(path) as file:
            yield "hdf5", file
    elif zipfile.is_zipfile(str(path)) and _is_npz(path):
        with opened_npz_samples(path) as file:
            yield "npz", file
    elif archives.is_archive(path):
        kind = archives.unpack(path, folder, max_bytes)
        with opened_folder_samples(folder / archives.DATA, kind) as file:
            yield "zip" if zipfile.is_zipfile(str(path)) else "tar", file
    elif is_text(begin):
        with opened_csv_samples(path) as file:
            yield "csv", file
    else:
        raise DataInvalid(
            "the file is none of these: npz; HDF5; CSV whose first line names the columns sample, "
            "time_ms, channel and label; zip or tar archive of the folder of a published data set"
        )


def _is_npz(path: Path) -> bool:
    from ipulse_core.data_files.errors import DataInvalid

    try:
        with zipfile.ZipFile(str(path)) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise DataInvalid(f"{path} is a damaged zip file: {error}") from error
    return any("/" not in name and name.endswith(".npy") for name in names)


if __name__ == "__main__":
    sys.exit(main())
