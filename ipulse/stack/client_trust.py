"""The certificates that a client trusts: those of its machine, and that of a service."""

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


class TrustByHost(LateAuthorities):
    """Verifies one host by its own context, and all others as this machine does.

    Authorities of the host's context count for the others, too; a single certificate that is
    pinned there does not.
    """

    host = ""
    of_host: ssl.SSLContext

    @classmethod
    def of(cls, host: str, trust: ssl.SSLContext) -> TrustByHost:
        """Return a context that verifies this host by `trust`."""
        made = cls(ssl.PROTOCOL_TLS_CLIENT)
        made.host, made.of_host = host.strip("[]").lower(), trust
        return made

    def wrap_socket(self, *args: Any, **kwargs: Any) -> ssl.SSLSocket:
        """Begin TLS on a socket."""
        name = kwargs.get("server_hostname") or (args[4] if len(args) > 4 else None)
        return self._chosen(name).wrap_socket(*args, **kwargs)

    def wrap_bio(self, *args: Any, **kwargs: Any) -> ssl.SSLObject:
        """Begin TLS on buffers in memory."""
        name = kwargs.get("server_hostname") or (args[3] if len(args) > 3 else None)
        return self._chosen(name).wrap_bio(*args, **kwargs)

    def _chosen(self, server_hostname: str | bytes | None) -> ssl.SSLContext:
        name = server_hostname.decode() if isinstance(server_hostname, bytes) else server_hostname
        return self.of_host if (name or "").lower() == self.host else self._read

    @cached_property
    def _read(self) -> ssl.SSLContext:
        context = self._machines()
        authorities = self.of_host.get_ca_certs(binary_form=True)
        if authorities and self.of_host.check_hostname:
            context.load_verify_locations(cadata=b"".join(authorities))
        return context
