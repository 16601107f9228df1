"""The calls of the HTTP API about data sets and their uploads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import httpx

from ipulse.client.transport.api_call import JSON_CONTENT, APICall, object_in
from ipulse.outgoing_file import OutgoingFile
from ipulse_core import strict_json
from ipulse_core.data_sets import NAME_PATTERN
from ipulse_core.errors import InvalidInput, NotFound, Problem
from ipulse_core.messages import ID

from .resources import DatasetUpload, DatasetVersion, ImportedNetwork, PushedOp

WAIT_SECONDS = 20  # that a response waits for the end of a check
IMPORT_SECONDS = 150.0  # in which the service has read a NIR file, after its turn has come

_VERSION = re.compile(r"latest|[0-9]{1,9}")


def start_upload(size: int, sha256: str, purpose: str) -> APICall[DatasetUpload]:
    """Return the call that announces a file, or finds the upload of it that has begun."""
    body = {"size": size, "sha256": sha256, "purpose": purpose}
    content = strict_json.dumps(body).encode()
    return APICall("POST", "/v1/uploads", _upload, headers=JSON_CONTENT, content=content)


def get_upload(upload_id: str) -> APICall[DatasetUpload]:
    """Return the call that reads how much of a file has arrived."""
    return APICall("GET", upload_path(upload_id), _upload)


def upload_path(upload_id: str) -> str:
    """Return the path to which the bytes of an upload are sent."""
    if not ID.fullmatch(upload_id):
        raise NotFound(f"there is no upload {upload_id[:100]!r}")
    return f"/v1/uploads/{upload_id}"


def delete_upload(upload_id: str) -> APICall[None]:
    """Return the call that forgets an upload that is not needed any more."""
    return APICall("DELETE", upload_path(upload_id), lambda response: None)


def add_version(name: str, upload_id: str) -> APICall[DatasetVersion]:
    """Return the call that makes an upload a version; it waits a while for the check."""
    content = strict_json.dumps({"upload_id": upload_id}).encode()
    headers = {**JSON_CONTENT, "Prefer": f"wait={WAIT_SECONDS}"}
    path = f"{_dataset_path(name)}/versions"
    return APICall("POST", path, _version, headers=headers, content=content)


def get_version(name: str, number: str, is_waiting: bool) -> APICall[DatasetVersion]:
    """Return the call that reads a version, or waits a while for the end of its check."""
    headers = {"Prefer": f"wait={WAIT_SECONDS}"} if is_waiting else {}
    return APICall("GET", _version_path(name, number), _version, headers=headers)


def get_sample(name: str, number: str, sample: int) -> APICall[dict[str, Any]]:
    """Return the call that reads one of the samples that can be looked at."""
    return APICall("GET", f"{_version_path(name, number)}/samples/{int(sample)}", object_in)


def list_datasets(page_token: str) -> APICall[tuple[list[DatasetVersion], str]]:
    """Return the call that reads a page of data sets: their latest versions, and the next token."""

    def read(response: httpx.Response) -> tuple[list[DatasetVersion], str]:
        value = object_in(response)
        found = [DatasetVersion.from_json(item["latest"]) for item in value["datasets"]]
        return found, value["next_page_token"]

    params = {"page_token": page_token} if page_token else {}
    return APICall("GET", "/v1/datasets", read, params=params)


def list_versions(name: str) -> APICall[list[DatasetVersion]]:
    """Return the call that reads all versions of a data set, newest first."""

    def read(response: httpx.Response) -> list[DatasetVersion]:
        return [DatasetVersion.from_json(item) for item in object_in(response)["versions"]]

    return APICall("GET", _dataset_path(name), read)


def delete(name: str, number: str | None) -> APICall[None]:
    """Return the call that deletes a version, or all versions of a data set."""
    path = _dataset_path(name) if number is None else _version_path(name, number)
    return APICall("DELETE", path, lambda response: None)


def _dataset_path(name: str) -> str:
    if not re.fullmatch(NAME_PATTERN, name):
        detail = "must be at most 128 letters, digits and ._- and begin with a letter or digit"
        raise InvalidInput(
            [Problem("/name", "wrong_form", detail)], f"{name[:60]!r} is no name of a data set"
        )
    return f"/v1/datasets/{name}"


def _version_path(name: str, number: str) -> str:
    if not _VERSION.fullmatch(number):
        raise NotFound(f"there is no version {number[:60]!r}")
    return f"{_dataset_path(name)}/versions/{number}"


def _upload(response: httpx.Response) -> DatasetUpload:
    return DatasetUpload.from_json(object_in(response))


def _version(response: httpx.Response) -> DatasetVersion:
    return DatasetVersion.from_json(object_in(response))


def list_ops(page_token: str) -> APICall[tuple[list[PushedOp], str]]:
    """Return the call that reads a page of custom ops, and the next token."""

    def read(response: httpx.Response) -> tuple[list[PushedOp], str]:
        value = object_in(response)
        return [PushedOp.from_json(op) for op in value["ops"]], value["next_page_token"]

    query = f"?{urlencode({'page_token': page_token})}" if page_token else ""
    return APICall("GET", f"/v1/ops{query}", read)


def get_op(sha256: str) -> APICall[PushedOp]:
    """Return the call that reads a custom op."""
    return APICall(
        "GET", _op_path(sha256), lambda response: PushedOp.from_json(object_in(response))
    )


def delete_op(sha256: str) -> APICall[None]:
    """Return the call that deletes a custom op."""
    return APICall("DELETE", _op_path(sha256), lambda response: None)


def import_nir(file: OutgoingFile, options: Mapping[str, Any]) -> APICall[ImportedNetwork]:
    """Return the call that imports a NIR file; options that are None are left out.

    It may be repeated: the same weights are stored once.
    """
    return APICall(
        "POST",
        "/v1/networks:import",
        lambda response: ImportedNetwork.from_json(object_in(response)),
        {name: value for name, value in options.items() if value is not None},
        {"Content-Type": "application/octet-stream", "Content-Length": str(file.size)},
        file,
        IMPORT_SECONDS,
    )


def _op_path(sha256: str) -> str:
    if not re.fullmatch("[0-9a-f]{64}", sha256):
        known = "`ipulse op list` shows all as NAME@sha256:DIGEST"
        raise NotFound(f"there is no op with the digest {sha256[:100]!r}; {known}")
    return f"/v1/ops/{sha256}"
