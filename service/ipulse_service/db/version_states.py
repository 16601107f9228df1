"""The states of a version of a data set, as its row has them."""

from __future__ import annotations

CHECKING, READY, REFUSED, DELETED = "checking", "ready", "refused", "deleted"
