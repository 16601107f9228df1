"""manifest.json: the files of a result, its spec and versions. It is written last."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, List, Sequence

from ipulse_core import strict_json
from ipulse_core.events import ArtifactEvent
from ipulse_core.manifest import ListedFile
from ipulse_core.spec.resolved_spec import spec_document
from ipulse_worker.runner.work_dir import WorkDir

if TYPE_CHECKING:
    from ipulse.spec import AnySpec

CHUNK = 1 << 20


def spec_sha256(spec: AnySpec) -> str:
    """Return the SHA-256 of the canonical text of the spec with all defaults."""
    return hashlib.sha256(strict_json.dumps(spec_document(spec)).encode("utf-8")).hexdigest()


def listed(work_dir: WorkDir, artifacts: Sequence[ArtifactEvent]) -> List[ListedFile]:
    """Return each artifact with the digest and the size of its file."""
    entries = []
    for artifact in artifacts:
        digest, size = hashlib.sha256(), 0
        with (work_dir.path / artifact.path).open("rb") as file:
            for chunk in iter(lambda: file.read(CHUNK), b""):
                digest.update(chunk)
                size += len(chunk)
        entries.append(
            ListedFile(artifact.path, artifact.role, artifact.media_type, digest.hexdigest(), size)
        )
    return entries
