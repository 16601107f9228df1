"""Sends the news that wait in the outbox, each receiver in its own turn."""

from __future__ import annotations

import logging
import random
import threading
from concurrent.futures import ThreadPoolExecutor

from ipulse_core.errors import Unavailable
from ipulse_core.repeating_thread import RepeatingThread
from ipulse_service.db.engine import Database
from ipulse_service.news import outbox, webhooks
from ipulse_service.news.destination import Rules
from ipulse_service.news.outbox import Due
from ipulse_service.news.sending import MailServer, Outcome, Sender
from ipulse_service.settings import Settings

# Seconds before each further try, with some jitter: about four days in all.
PAUSES = (5.0, 300.0, 1800.0, 7200.0, 18_000.0, 36_000.0, 50_400.0, 72_000.0, 86_400.0)
JITTER = 0.1
RECEIVERS = 8  # that are served at once
CLAIM_SECONDS = 120.0  # longer than a try: then another replica may take it
TICK_SECONDS = 5.0  # between two looks for what another replica has added

_log = logging.getLogger(__name__)


def sender_of(settings: Settings) -> Sender:
    """Returns what sends messages by the settings."""
    mail = None
    if settings.smtp_url:
        mail = MailServer(settings.smtp_url, settings.mail_from, settings.smtp_password_file)
    rules = Rules(settings.webhook_hosts, settings.webhook_networks)
    return Sender(rules, settings.webhook_key_file, mail)


class NewsSender(RepeatingThread):
    """A thread that claims deliveries and sends them in a pool; a slow receiver delays no other."""

    def __init__(self, database: Database, settings: Settings) -> None:
        super().__init__("news", self._send_due)
        self.sender = sender_of(settings)
        self.pauses = PAUSES
        self._database = database
        self._pool: ThreadPoolExecutor | None = None
        self._busy: set[int] = set()  # webhooks that are sent to
        self._lock = threading.Lock()
        database.listeners.append(self._hear)

    def stop(self, seconds: float | None = None) -> None:
        """Ends the thread once the tries under way have ended."""
        super().stop(seconds)
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def _hear(self, topics: frozenset[str]) -> None:
        if outbox.TOPIC in topics:
            self.wake()

    def _send_due(self) -> float:
        with self._lock:
            busy = tuple(self._busy)
        with self._database.read() as transaction:
            wait = outbox.next_due(transaction)
        if wait is None:
            return TICK_SECONDS
        room = RECEIVERS - len(busy)
        if wait == 0 and room:
            with self._database.write() as transaction:
                claimed = outbox.claim(transaction, CLAIM_SECONDS, room, busy)
            if self._pool is None:
                self._pool = ThreadPoolExecutor(RECEIVERS, "news")
            for due in claimed:
                with self._lock:
                    self._busy.add(due.webhook_pk)
                self._pool.submit(self._send, due)
            return TICK_SECONDS  # each that ends wakes this thread
        return min(TICK_SECONDS, wait / 1000 or TICK_SECONDS)

    def _send(self, due: Due) -> None:
        try:
            outcome = self.sender.send(due)
            self._store(due, outcome)
        except Unavailable as error:
            _log.warning("news_waits", extra={"webhook": due.webhook_id, "error": str(error)})
        except Exception:  # noqa: BLE001 - a message that breaks the code is logged, others go on
            _log.exception("news_failed", extra={"webhook": due.webhook_id})
        finally:
            with self._lock:
                self._busy.discard(due.webhook_pk)
            self.wake()

    def _store(self, due: Due, outcome: Outcome) -> None:
        retry_in = None
        if not outcome.is_delivered and not outcome.is_final and due.tries <= len(self.pauses):
            pause = self.pauses[due.tries - 1] * random.uniform(1 - JITTER, 1 + JITTER)
            retry_in = max(pause, outcome.wait_seconds)
        state = outbox.DELIVERED if outcome.is_delivered else outbox.FAILED
        with self._database.write() as transaction:
            outbox.finish(transaction, due, state, outcome.error, retry_in)
            if outcome.is_gone:
                webhooks.switch(transaction, due.webhook_pk, False, "the receiver answered 410")
        if retry_in is None and not outcome.is_delivered:
            facts = {"webhook": due.webhook_id, "delivery": due.id, "error": outcome.error}
            _log.warning("news_lost", extra=facts)
