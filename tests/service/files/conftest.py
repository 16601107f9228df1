"""A bucket of a server in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ipulse_service.files.s3 import S3Blobs


@pytest.fixture
def bucket(s3_settings: dict[str, Any], tmp_path: Path) -> S3Blobs:
    store = S3Blobs(s3_settings["s3_bucket"], s3_settings["s3_endpoint_url"], "ours/", tmp_path)
    store.prepare()
    return store
