"""RO-Crate metadata of an archive (https://w3id.org/ro/crate/1.1): what its files are."""

from __future__ import annotations

from typing import Any

from ipulse.archives.layout import EVENTS, FILES, JOB, METADATA, SPEC
from ipulse_core.version import version

from .record import JobRecord

_PURPOSES = {
    JOB: ("The job as the service stored it", "application/json"),
    SPEC: ("The spec with all defaults", "application/json"),
    EVENTS: ("Every event of the job: phases, metrics and log", "application/x-ndjson"),
}


def metadata_of(record: JobRecord) -> dict[str, Any]:
    """Return the content of ro-crate-metadata.json."""
    parts = [_file(name, *purpose) for name, purpose in _PURPOSES.items()]
    for artifact in sorted(record.artifacts, key=lambda artifact: artifact.name):
        file = _file(FILES + artifact.name, artifact.role, artifact.media_type)
        parts.append({**file, "contentSize": str(artifact.size), "sha256": artifact.sha256})
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": record.job.name,
        "identifier": record.job.id,
        "description": f"A training by IPUlse: {record.job.id}",
        "dateCreated": record.job.json["created_at"],
        "datePublished": record.job.json["finished_at"] or record.job.json["created_at"],
        "hasPart": [{"@id": part["@id"]} for part in parts],
        "mentions": {"@id": "#training"},
    }
    training = {
        "@id": "#training",
        "@type": "CreateAction",
        "name": record.job.name,
        "instrument": {"@id": "#ipulse"},
        "object": {"@id": SPEC},
        "result": [{"@id": part["@id"]} for part in parts if part["@id"].startswith(FILES)],
        "startTime": record.job.json["started_at"],
        "endTime": record.job.json["finished_at"],
    }
    program = {
        "@id": "#ipulse",
        "@type": "SoftwareApplication",
        "name": "IPUlse",
        "softwareVersion": version(),
    }
    descriptor = {
        "@id": METADATA,
        "@type": "CreativeWork",
        "about": {"@id": "./"},
        "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
    }
    return {
        "@context": "https://w3id.org/ro/crate/1.1/context",
        "@graph": [descriptor, root, training, program, *parts],
    }


def _file(name: str, description: str, media_type: str) -> dict[str, str]:
    return {
        "@id": name,
        "@type": "File",
        "description": description,
        "encodingFormat": media_type,
    }
