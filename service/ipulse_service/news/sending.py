"""Sends one message: an HTTP request to a checked address, or a mail."""

from __future__ import annotations

import http.client
import smtplib
import socket
import ssl
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from ipulse.key_file import key_in
from ipulse_core.version import version
from ipulse_service.news import message, signing
from ipulse_service.news.destination import Forbidden, Resolver, Rules
from ipulse_service.news.outbox import Due

TIMEOUT_SECONDS = 15  # without a byte
DEADLINE_SECONDS = 60  # of a try in all
READ_BYTES = 4096  # of an answer
LONGEST_WAIT_SECONDS = 3600.0  # that a receiver may ask for


@dataclass(frozen=True)
class Outcome:
    """How a try ended."""

    is_delivered: bool
    error: str = ""
    is_final: bool = False  # no other try can succeed
    is_gone: bool = False  # the receiver wants no more
    wait_seconds: float = 0.0  # that the receiver asked for


@dataclass(frozen=True)
class MailServer:
    """How mails are sent; `url` is smtp://, smtp+starttls:// or smtps://."""

    url: str
    sender: str
    password_file: Path | None

    def send(self, due: Due) -> Outcome:
        """Sends a mail. Outcomes, not errors, say what went wrong."""
        parts = urlsplit(self.url)
        to = unquote(urlsplit(due.url).path)
        mail = message.mail(due.body, self.sender, to, due.id)
        context = ssl.create_default_context()
        try:
            host = parts.hostname or ""
            if parts.scheme == "smtps":
                server: smtplib.SMTP = smtplib.SMTP_SSL(
                    host, parts.port or 465, timeout=TIMEOUT_SECONDS, context=context
                )
            else:
                server = smtplib.SMTP(host, parts.port or 25, timeout=TIMEOUT_SECONDS)
            with server:
                if parts.scheme == "smtp+starttls":
                    server.starttls(context=context)
                if parts.username and self.password_file is not None:
                    password = self.password_file.read_text().strip()
                    server.login(unquote(parts.username), password)
                server.send_message(mail)
        except smtplib.SMTPRecipientsRefused as error:
            code = next(iter(error.recipients.values()))[0]
            return Outcome(False, f"the mail server refused {to} ({code})", is_final=code >= 500)
        except (OSError, smtplib.SMTPException) as error:
            return Outcome(False, f"{type(error).__name__}: {error}")
        return Outcome(True)


class Sender:
    """Sends messages by the operator's rules."""

    def __init__(self, rules: Rules, key_file: Path, mail_server: MailServer | None) -> None:
        self._rules = rules
        self._key_file = key_file
        self._mail_server = mail_server
        self.resolve: Resolver = socket.getaddrinfo

    def send(self, due: Due) -> Outcome:
        """Sends a message. Outcomes, not errors, say what went wrong."""
        try:
            parts = self._rules.check(due.url)
            if parts.scheme == "mailto":
                if self._mail_server is None:
                    return Outcome(False, "the service has no IPULSE_SMTP_URL", is_final=True)
                return self._mail_server.send(due)
            return self._post(due, parts)
        except Forbidden as error:
            return Outcome(False, str(error), is_final=True)
        except (OSError, http.client.HTTPException) as error:
            return Outcome(False, f"{type(error).__name__}: {error}")

    def _post(self, due: Due, parts: SplitResult) -> Outcome:
        body = due.body.encode()
        secret = signing.secret_of(key_in(self._key_file), due.webhook_id)
        now = int(time.time())
        headers = {
            "content-type": "application/json",
            "user-agent": f"IPUlse/{version()}",
            "webhook-id": due.id,
            "webhook-timestamp": str(now),
            "webhook-signature": signing.signature(secret, due.id, now, body),
        }
        connection = _Connection(parts, self._rules.addresses(parts, self.resolve))
        # A receiver that sends a byte now and then keeps no thread.
        deadline = threading.Timer(DEADLINE_SECONDS, connection.abort)
        deadline.start()
        try:
            path = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
            connection.request("POST", path, body, headers)
            response = connection.getresponse()
            response.read(READ_BYTES)
        finally:
            deadline.cancel()
            connection.close()
        return _outcome(response)


class _Connection(http.client.HTTPConnection):
    """A connection to addresses that were checked, whatever the name leads to by now."""

    def __init__(self, parts: SplitResult, addresses: list[tuple[str, int]]) -> None:
        super().__init__(parts.hostname or "", parts.port, timeout=TIMEOUT_SECONDS)
        self.default_port = 443 if parts.scheme == "https" else 80  # not in the Host header
        self.port = parts.port or self.default_port
        self._is_secure = parts.scheme == "https"
        self._addresses = addresses

    def connect(self) -> None:
        """Connects to the first address that answers. Raises OSError."""
        failure = OSError("the host has no address")
        for address in self._addresses:
            try:
                self.sock = socket.create_connection(address, TIMEOUT_SECONDS)
            except OSError as error:
                failure = error
            else:
                break
        else:
            raise failure
        if self._is_secure:
            context = ssl.create_default_context()
            self.sock = context.wrap_socket(self.sock, server_hostname=self.host)

    def abort(self) -> None:
        """Ends the connection, from another thread."""
        with suppress(OSError, AttributeError):
            self.sock.shutdown(socket.SHUT_RDWR)


def _outcome(response: http.client.HTTPResponse) -> Outcome:
    status = response.status
    if 200 <= status < 300:
        return Outcome(True)
    error = f"the receiver answered {status}"
    if status == http.HTTPStatus.GONE:
        return Outcome(False, error, is_final=True, is_gone=True)
    wait = 0.0
    if status in (http.HTTPStatus.TOO_MANY_REQUESTS, http.HTTPStatus.SERVICE_UNAVAILABLE):
        wait = _seconds(response.getheader("retry-after", ""))
    return Outcome(False, error, wait_seconds=min(wait, LONGEST_WAIT_SECONDS))


def _seconds(text: str) -> float:
    """Returns the seconds of a Retry-After header, 0 for one that is none."""
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError):
        return 0.0
