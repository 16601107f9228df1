"""Secret keys in files, which the first use makes."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from ipulse_core.errors import Unavailable
from ipulse_core.worker_faults import errors_name

KEY_BYTES = 32


def key_in(path: Path) -> bytes:
    """Returns the key in a file, which the first call makes.

    Raises Unavailable for a file that cannot be read or has no key, and OSError for a new one that
    cannot be written.
    """
    try:
        if not path.exists():
            _make(path)
        key = bytes.fromhex(path.read_text("ascii").strip())
    except ValueError:
        key = b""
    except PermissionError as error:
        raise Unavailable(f"cannot use the key {path} ({error.strerror})") from error
    if len(key) < KEY_BYTES:
        raise Unavailable(
            f"there is no key in {path}: restore it from a backup, or remove the file"
        )
    return key


def _make(path: Path) -> None:
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    with errors_name(path):
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            with os.fdopen(os.open(draft, flags, 0o600), "w") as file:
                file.write(secrets.token_hex(KEY_BYTES) + "\n")
                file.flush()
                os.fsync(file.fileno())
            with suppress(FileExistsError):  # another thread or process was first
                os.link(draft, path)
        finally:
            draft.unlink(missing_ok=True)
