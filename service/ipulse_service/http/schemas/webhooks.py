"""Webhooks as the API creates and lists them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field

from ipulse.models import StrictModel
from ipulse_service.db.engine import rfc3339
from ipulse_service.http.schemas.base import JOB_ID, Timestamp, example
from ipulse_service.news.destination import MAX_URL
from ipulse_service.news.message import TYPES, Format, Type
from ipulse_service.news.webhooks import Webhook

_ABOUT = {
    "id": "whk_0b5c2e6f7a8d9c1e2f3a4b5c",
    "name": "lab channel",
    "url": "https://hooks.example.org/ipulse",
    "format": "standard",
    "types": ["job.succeeded", "job.failed"],
    "is_on": True,
    "reason": "",
    "created_at": "2026-01-31T12:00:00.000Z",
}

_SECRET = "whsec_AAECAwQFBgcICQoLDA0ODw=="  # noqa: S105 - an example

WebhookFormat = Annotated[
    Format,
    Field(
        description="Form of the messages: `standard` is JSON with the fields of the job, the "
        "others are a sentence for people."
    ),
]


class WebhookRequest(StrictModel):
    """A request for a webhook."""

    model_config = example(
        name=_ABOUT["name"], url=_ABOUT["url"], format=_ABOUT["format"], types=_ABOUT["types"]
    )

    name: str = Field(
        default="", max_length=128, pattern=r"^[^\x00-\x1f\x7f]*$", description="For people."
    )
    url: str = Field(
        min_length=1,
        max_length=MAX_URL,
        description="`https://HOST/PATH`, or `mailto:ADDRESS`; the operator lists the hosts.",
    )
    format: WebhookFormat | None = Field(
        default=None, description="By default `mail` for an address and else `standard`."
    )
    types: list[Type] = Field(
        default=[*TYPES], min_length=1, max_length=8, description="News that are sent."
    )


class WebhookInfo(BaseModel):
    """A webhook without its secret."""

    model_config = example(**_ABOUT)

    id: str
    name: str
    url: str
    format: WebhookFormat
    types: list[str]
    is_on: bool = Field(description="False after the receiver answered 410; a test switches it on.")
    reason: str = Field(description="Why it is off.")
    created_at: Timestamp | None

    @classmethod
    def from_row(cls, webhook: Webhook) -> Self:
        """Returns the model of a stored webhook."""
        return cls.model_validate(
            {
                "id": webhook.id,
                "name": webhook.name,
                "url": webhook.url,
                "format": webhook.form,
                "types": list(webhook.types),
                "is_on": webhook.is_on,
                "reason": webhook.reason,
                "created_at": rfc3339(webhook.created_at),
            }
        )


class CreatedWebhook(BaseModel):
    """A new webhook with its secret."""

    model_config = example(secret=_SECRET, about=_ABOUT)

    secret: str = Field(
        description="With it receivers verify the header `webhook-signature`, by the scheme of "
        "Standard Webhooks. It is shown only in this response; empty for mails."
    )
    about: WebhookInfo


class WebhookList(BaseModel):
    """All webhooks."""

    model_config = example(webhooks=[_ABOUT])

    webhooks: list[WebhookInfo]


class DeliveryInfo(BaseModel):
    """A message to a webhook."""

    id: str = Field(description="The header `webhook-id`, the same at every try.")
    type: str
    job_id: str | None
    state: Literal["waiting", "delivered", "failed"]
    tries: int
    error: str = Field(description="Of the latest try.")
    created_at: Timestamp | None
    next_at: Timestamp | None = Field(description="Of a message that waits: when it is sent.")

    @classmethod
    def from_row(cls, row: Any) -> Self:
        """Returns the model of a stored delivery."""
        return cls(
            id=row.id,
            type=row.kind,
            job_id=row.job_id,
            state=row.state,
            tries=row.tries,
            error=row.error,
            created_at=rfc3339(row.created_at),
            next_at=rfc3339(row.next_at) if row.state == "waiting" else None,
        )


class DeliveryList(BaseModel):
    """The latest messages to a webhook, the newest first."""

    model_config = example(
        deliveries=[
            {
                "id": "msg_0b5c2e6f7a8d9c1e2f3a4b5c",
                "type": "job.succeeded",
                "job_id": JOB_ID,
                "state": "waiting",
                "tries": 1,
                "error": "the receiver answered 503",
                "created_at": "2026-01-31T12:00:00.000Z",
                "next_at": "2026-01-31T12:00:05.000Z",
            }
        ]
    )

    deliveries: list[DeliveryInfo]
