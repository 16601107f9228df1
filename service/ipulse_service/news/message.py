"""What is said about the end of a job, for each kind of receiver."""

from __future__ import annotations

from email.message import EmailMessage
from typing import Any, Literal, get_args

from ipulse_core import strict_json

Format = Literal["standard", "slack", "mattermost", "matrix", "mail"]

TEST = "webhook.test"
Type = Literal["job.succeeded", "job.failed", "job.cancelled"]
TYPES: tuple[Type, ...] = get_args(Type)
MAX_TEXT = 500  # characters of a job's message
_SLACK = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def body_of(form: str, kind: str, time: str, data: dict[str, Any]) -> str:
    """Returns the body of a message; all tries send the same one."""
    if form == "standard":
        return strict_json.dumps({"type": kind, "timestamp": time, "data": data})
    text = sentence(kind, data)
    if form == "slack":
        text = text.translate(_SLACK)  # else names could call people
    elif form in ("mattermost", "matrix"):
        text = text.replace("@", "@\u200b")
    return strict_json.dumps({"text": text})


def sentence(kind: str, data: dict[str, Any]) -> str:
    """Returns the news as one sentence."""
    if kind == TEST:
        return "IPUlse: this is a test, as somebody asked for one."
    reason = f" ({data['reason']})" if data.get("reason") else ""
    message = f": {data['message']}" if data.get("message") else ""
    return f"IPUlse: {data['name']} ({data['id']}) {kind.partition('.')[2]}{reason}{message}"


def mail(body: str, sender: str, to: str, message_id: str) -> EmailMessage:
    """Returns a mail, with the same Message-ID at every try."""
    text = " ".join(str(strict_json.loads(body)["text"]).split())
    made = EmailMessage()
    made["From"], made["To"] = sender, to
    made["Subject"] = text[:120]
    made["Message-ID"] = f"<{message_id}@{sender.rpartition('@')[2]}>"
    made["Auto-Submitted"] = "auto-generated"
    made.set_content(text + "\n")
    return made
