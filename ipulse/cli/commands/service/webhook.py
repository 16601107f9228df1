"""webhook add, list, test, deliveries and delete: news of jobs for programs, chats and mail."""

from __future__ import annotations

from typing import Annotated

import typer

from ipulse.cli.exits import Exit
from ipulse.cli.options import Address, AsJSON, Wide, Yes, addressed
from ipulse.cli.tables import show_list
from ipulse.cli.terminal import confirm, emit, minute_text, say, show, show_done

WebhookId = Annotated[
    str, typer.Argument(metavar="ID", help="Id of the webhook.", show_default=False)
]


@addressed
def add_webhook(
    at: Address,
    receiver: Annotated[
        str,
        typer.Argument(
            metavar="URL",
            help="https://HOST/PATH or mailto:ADDRESS, on a host that the operator allows.",
            show_default=False,
        ),
    ],
    name: Annotated[str, typer.Option(metavar="NAME", help="A name for people.")] = "",
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="standard, slack, mattermost, matrix or mail. [default: by the URL]",
        ),
    ] = None,
    on: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TYPE",
            help="job.succeeded, job.failed or job.cancelled; may be repeated. [default: all]",
        ),
    ] = None,
    as_json: AsJSON = False,
) -> Exit:
    """Send a message to a program, a chat or a mail address when a job ends.

    The secret with which a receiver verifies messages is printed once and stored nowhere.
    """
    with at.connect() as connection:
        webhook = connection.create_webhook(receiver, name, format=form, types=on)
    if as_json:
        emit({"secret": webhook.secret, "about": webhook.json})
        return Exit.OK
    if webhook.secret:
        show(webhook.secret)
    say(f"{webhook.id}: {webhook.format}, {', '.join(webhook.types)}")
    return Exit.OK


@addressed
def list_webhooks(at: Address, wide: Wide = False, as_json: AsJSON = False) -> Exit:
    """List the webhooks."""
    with at.connect() as connection:
        webhooks = connection.webhooks()
    rows = [
        (w.id, w.name, w.format, "on" if w.is_on else f"off: {w.reason}", w.url) for w in webhooks
    ]
    documents = [webhook.json for webhook in webhooks]
    header = ["ID", "NAME", "FORMAT", "STATE", "URL"]
    show_list("webhooks", documents, header, rows, as_json, wide)
    return Exit.OK


@addressed
def check_webhook(at: Address, webhook_id: WebhookId, as_json: AsJSON = False) -> Exit:
    """Send a test message to a webhook; one that was off is on then."""
    with at.connect() as connection:
        webhook = connection.check_webhook(webhook_id)
    if as_json:
        emit(webhook.json)
    else:
        show(f"A test is on its way: `ipulse webhook deliveries {webhook.id}` says how it went.")
    return Exit.OK


@addressed
def list_deliveries(
    at: Address, webhook_id: WebhookId, wide: Wide = False, as_json: AsJSON = False
) -> Exit:
    """List the latest messages to a webhook, and how each went."""
    with at.connect() as connection:
        messages = connection.deliveries(webhook_id)
    rows = [
        (m.id, m.type, m.job_id or "", m.state, str(m.tries), minute_text(m.created_at), m.error)
        for m in messages
    ]
    header = ["ID", "TYPE", "JOB", "STATE", "TRIES", "CREATED", "ERROR"]
    show_list("deliveries", [m.json for m in messages], header, rows, as_json, wide)
    return Exit.OK


@addressed
def delete_webhook(
    at: Address, webhook_id: WebhookId, yes: Yes = False, as_json: AsJSON = False
) -> Exit:
    """Delete a webhook, with the messages that wait for it."""
    with at.connect() as connection:
        confirm("delete", f"the webhook {webhook_id}", yes)
        connection.delete_webhook(webhook_id)
    show_done("deleted", webhook_id, as_json)
    return Exit.OK
