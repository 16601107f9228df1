"""Routes that create, list, test and delete webhooks, for the owner's token only."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from ipulse.key_file import key_in
from ipulse_core.errors import InvalidInput, Problem
from ipulse_service.http import problems
from ipulse_service.http.auth import open_to
from ipulse_service.http.dependencies import State
from ipulse_service.http.payloads import JSONRoute
from ipulse_service.http.schemas.webhooks import (
    CreatedWebhook,
    DeliveryInfo,
    DeliveryList,
    WebhookInfo,
    WebhookList,
    WebhookRequest,
)
from ipulse_service.news import outbox, signing, webhooks
from ipulse_service.news.destination import Rules, checked
from ipulse_service.settings import Settings

router = APIRouter(prefix="/v1/webhooks", tags=["webhooks"], route_class=JSONRoute)

WebhookId = Annotated[str, Path(description="The webhook's id.")]


@router.post(
    "",
    status_code=201,
    summary="Create a webhook",
    response_description="It gets the news from now on.",
    responses=problems.documented(409, 413, 415, 422),
)
@open_to("owner")
def create_webhook(body: WebhookRequest, state: State) -> CreatedWebhook:
    """Sends signed messages about the ends of jobs to a URL or to a mail address."""
    form = _form(body, state.settings)
    with state.database.write() as transaction:
        types = tuple(dict.fromkeys(body.types))
        webhook = webhooks.create(transaction, body.name, body.url, form, types)
    key = key_in(state.settings.webhook_key_file)
    secret = "" if form == "mail" else signing.secret_of(key, webhook.id)
    return CreatedWebhook(secret=secret, about=WebhookInfo.from_row(webhook))


@router.get("", summary="List webhooks", response_description="The webhooks.")
@open_to("owner")
def list_webhooks(state: State) -> WebhookList:
    """Returns all webhooks, the newest first, without their secrets."""
    with state.database.read() as transaction:
        found = webhooks.listed(transaction)
    return WebhookList(webhooks=[WebhookInfo.from_row(webhook) for webhook in found])


@router.get(
    "/{webhook_id}/deliveries",
    summary="List the messages to a webhook",
    response_description="The latest messages.",
    responses=problems.documented(404),
)
@open_to("owner")
def list_deliveries(webhook_id: WebhookId, state: State) -> DeliveryList:
    """Returns the latest messages to a webhook, the newest first, and how each went."""
    with state.database.read() as transaction:
        webhook = webhooks.get(transaction, webhook_id)
        rows = outbox.latest(transaction, webhook.pk)
    return DeliveryList(deliveries=[DeliveryInfo.from_row(row) for row in rows])


@router.post(
    "/{webhook_id}:test",
    status_code=202,
    summary="Test a webhook",
    response_description="The test is on its way.",
    responses=problems.documented(404),
)
@open_to("owner")
def test_webhook(webhook_id: WebhookId, state: State) -> WebhookInfo:
    """Sends a message of the type `webhook.test`, and switches a webhook on that was off."""
    with state.database.write() as transaction:
        webhooks.test(transaction, webhooks.get(transaction, webhook_id))
        webhook = webhooks.get(transaction, webhook_id)
    return WebhookInfo.from_row(webhook)


@router.delete(
    "/{webhook_id}",
    status_code=204,
    summary="Delete a webhook",
    response_description="The webhook is deleted.",
    responses=problems.documented(404),
)
@open_to("owner")
def delete_webhook(webhook_id: WebhookId, state: State) -> None:
    """Deletes a webhook at once, with the messages that wait for it."""
    with state.database.write() as transaction:
        webhooks.remove(transaction, webhook_id)


def _form(body: WebhookRequest, settings: Settings) -> str:
    """Returns the form of the messages. Raises InvalidInput for a URL that is not allowed."""
    parts = checked(Rules(settings.webhook_hosts, settings.webhook_networks), body.url)
    is_mail = parts.scheme == "mailto"
    if is_mail and not settings.smtp_url:
        detail = "this service sends no mail: the operator sets IPULSE_SMTP_URL"
        raise InvalidInput([Problem("/url", "no_mail", detail)], detail)
    form = body.format or ("mail" if is_mail else "standard")
    if is_mail is not (form == "mail"):
        detail = "is for mailto: alone" if form == "mail" else "must be mail for a mailto: URL"
        raise InvalidInput([Problem("/format", "inconsistent", detail)], f"format {detail}")
    return form
