"""How to verify a service with an authority of its own, and the object stores it leads to."""

from __future__ import annotations

import ssl
from functools import cached_property
from typing import Any

from ipulse.stack.late_authorities import LateAuthorities


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
