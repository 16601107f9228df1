"""The authorities that a client trusts unless others are given: those of its machine."""

from __future__ import annotations

import ssl
from functools import cached_property
from typing import Any


class LateAuthorities(ssl.SSLContext):
    """Trusts the machine's authorities, and reads them for the first connection with TLS.

    To read them takes longer than all else about a client. A service without TLS needs none, unless
    it leads to an object store with TLS.
    """

    def wrap_socket(self, *args: Any, **kwargs: Any) -> ssl.SSLSocket:
        """Begin TLS on a socket."""
        return self._read.wrap_socket(*args, **kwargs)

    def wrap_bio(self, *args: Any, **kwargs: Any) -> ssl.SSLObject:
        """Begin TLS on buffers in memory."""
        return self._read.wrap_bio(*args, **kwargs)

    @cached_property
    def _read(self) -> ssl.SSLContext:
        return self._machines()

    @staticmethod
    def _machines() -> ssl.SSLContext:
        import httpx

        return httpx.create_ssl_context()
