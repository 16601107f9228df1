"""A receiver of webhooks and one of mails, which misbehave on demand."""

from __future__ import annotations

import json
import socketserver
import ssl
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from ipulse_service.news import signing


class Receiver:
    """Counts messages by their id; `faults` are what the next requests meet."""

    def __init__(self) -> None:
        self.faults: deque[str] = deque()
        self.requests: list[dict[str, Any]] = []  # headers and body of all that arrived
        self.secret = ""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]

    @property
    def accepted(self) -> list[str]:
        """The ids of the messages that were answered with success."""
        return [request["id"] for request in self.requests if request["fault"] in ("", "answered")]

    def use_tls(self, certificate: Path, key: Path) -> None:
        """Answers with TLS from now on."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self._server.socket = context.wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False
        )

    @contextmanager
    def running(self) -> Iterator[Receiver]:
        thread = threading.Thread(target=self._server.serve_forever)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                fault = receiver.faults.popleft() if receiver.faults else ""
                identity, at = self.headers["webhook-id"], int(self.headers["webhook-timestamp"])
                expected = signing.signature(receiver.secret, identity, at, body)
                assert self.headers["webhook-signature"] == expected
                receiver.requests.append(
                    {"id": identity, "fault": fault, "body": json.loads(body), "path": self.path}
                )
                if fault == "closed":
                    self.close_connection = True
                    return
                if fault == "cut":
                    self.wfile.write(b"HTTP/1.1 20")
                    return
                if fault == "garbage":
                    self.wfile.write(b"\x00\xff\r\n\r\n")
                    return
                status = {"": 204, "answered": 204, "redirect": 302, "gone": 410}.get(fault)
                self.send_response(status or int(fault))
                if fault == "redirect":
                    self.send_header("location", f"http://127.0.0.1:{receiver.port}/elsewhere")
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        return Handler


class MailServer(socketserver.ThreadingTCPServer):
    """Takes mails by SMTP; `drops` are mails that are taken and whose answer is lost."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _MailHandler)
        self.mails: list[str] = []
        self.refusals = 0  # of the next mails, with a temporary error

    @contextmanager
    def running(self) -> Iterator[MailServer]:
        thread = threading.Thread(target=self.serve_forever)
        thread.start()
        try:
            yield self
        finally:
            self.shutdown()
            self.server_close()
            thread.join()


class _MailHandler(socketserver.StreamRequestHandler):
    server: MailServer

    def handle(self) -> None:
        self.wfile.write(b"220 ready\r\n")
        for line in iter(self.rfile.readline, b""):
            word = line.strip().upper().partition(b" ")[0]
            if word == b"QUIT":
                self.wfile.write(b"221 bye\r\n")
                return
            if word == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                mail = b"".join(iter(self.rfile.readline, b".\r\n"))
                if self.server.refusals:
                    self.server.refusals -= 1
                    self.wfile.write(b"451 later\r\n")
                    continue
                self.server.mails.append(mail.decode())
            self.wfile.write(b"250 ok\r\n")
