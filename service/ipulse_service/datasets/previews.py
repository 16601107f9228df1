"""Samples of a data set's version that can be looked at."""

from __future__ import annotations

import json
import re

from sqlalchemy import select

from ipulse_core.errors import NotFound
from ipulse_service.datasets.facts import SamplePreview
from ipulse_service.datasets.versions import VersionRow
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import dataset_samples

_SAMPLE = re.compile(r"[0-9]{1,9}")


def previews(transaction: Transaction, version: VersionRow) -> list[int]:
    """Returns the numbers of the samples that can be looked at."""
    query = (
        select(dataset_samples.c.sample)
        .where(dataset_samples.c.version_pk == version.pk)
        .order_by(dataset_samples.c.sample)
    )
    return list(transaction.connection.execute(query).scalars())


def preview(transaction: Transaction, version: VersionRow, sample: str) -> SamplePreview:
    """Returns a sample to look at. Raises NotFound."""
    body = None
    if _SAMPLE.fullmatch(sample):
        query = select(dataset_samples.c.body).where(
            dataset_samples.c.version_pk == version.pk, dataset_samples.c.sample == int(sample)
        )
        body = transaction.connection.execute(query).scalar_one_or_none()
    if body is None:
        raise NotFound("this sample cannot be looked at; `previews` of the version lists some")
    return SamplePreview.model_validate(json.loads(body))
