"""The only Celery task: it decodes a wake-up and calls the agent."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from ipulse_core.messages import ID

_log = logging.getLogger(__name__)


def look_at_job(look_at: Callable[[str], None]) -> Callable[..., None]:
    """Returns the task's function, which drops a message that is not exactly one job id."""

    def task(*args: Any, **kwargs: Any) -> None:
        if kwargs or len(args) != 1 or not isinstance(args[0], str) or not ID.fullmatch(args[0]):
            _log.warning("message_rejected", extra={"arguments": repr((args, kwargs))[:200]})
            return
        look_at(args[0])

    return task
