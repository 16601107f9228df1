"""The secret files of a home: tokens, the key pair of `ipulse up --tls`, the key of webhooks."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ipulse_core.errors import Unavailable
from ipulse_service.backup.archive_file import sync_folder
from ipulse_service.settings import Settings

MAX_BYTES = 2**20  # of such a file


def places(settings: Settings) -> dict[str, Path]:
    """Returns where each key is, by its name in a backup."""
    found = {name: settings.home / name for name in ("tls-certificate.pem", "tls-key.pem")}
    for name, chosen in (
        ("token", settings.token_file),
        ("agent-key", settings.agent_key_file),
    ):
        # A stack has its own in the home; IPULSE_TOKEN_FILE may be that of a client then.
        own = settings.home / name
        found[name] = own if own.exists() else chosen
    found["webhook-key"] = settings.webhook_key_file
    return found


def read(path: Path) -> bytes | None:
    """Returns the content of a key file, None if there is none. Raises Unavailable."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unavailable(
            f"cannot read {path} ({error.strerror}): run the command as the user of the service, "
            "or leave the keys out with --no-keys"
        ) from error


@dataclass(frozen=True)
class StagedKey:
    """A key that lies next to its place, on the disk, until it is put there."""

    draft: Path
    path: Path

    def put(self) -> None:
        """Puts the key into its place. It needs no room on the disk."""
        self.draft.replace(self.path)
        sync_folder(self.path.parent)

    def drop(self) -> None:
        """Removes the draft."""
        self.draft.unlink(missing_ok=True)


def stage(path: Path, content: bytes) -> StagedKey | None:
    """Writes a key next to its place; returns None if it is there already. Raises Unavailable."""
    if read(path) == content:
        return None
    draft = path.with_name(f".{path.name}.restored")
    try:
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise Unavailable(
            f"the key {path} cannot be written ({error.strerror}): make its folder writable, or "
            "keep the present keys with --no-keys. Nothing was changed"
        ) from error
    return StagedKey(draft, path)
