"""The service as a program: listens, says where in server.json, and serves until told to stop."""

from __future__ import annotations

import gc
import json
import logging
import os
import signal
import socket
from pathlib import Path
from types import FrameType

import uvicorn
from fastapi import FastAPI
from pydantic import ValidationError

from ipulse.stack import listening
from ipulse_core.errors import IPUlseError, Unavailable
from ipulse_service.http import log_context as log
from ipulse_service.http.app import create_app
from ipulse_service.http.state import AppState
from ipulse_service.http.uvicorn_protocol import SlowClientProtocol
from ipulse_service.settings import Settings

_log = logging.getLogger(__name__)


class Server(uvicorn.Server):
    """Says where it listens once it does, and lets no open stream hold up its end."""

    def __init__(self, config: uvicorn.Config, state: AppState, url: str) -> None:
        super().__init__(config)
        self._state = state
        self._url = url
        self._announcement = state.settings.home / "server.json"

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            _announce(self._announcement, self._url)
            _log.info("listening", extra={"url": self._url})

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        _withdraw(self._announcement)
        await super().shutdown(sockets=sockets)
        _log.info("stopped")

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._state.notifier.stop()
        # The original also raises the signal again at the end; a stop that was asked for and
        # was clean ends with 0 instead. Who presses Ctrl-C twice does not want to wait.
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


def main() -> int:
    """Returns the exit code: 0 after a clean stop, 2 for settings that cannot work.

    Where the start itself fails, for instance on a broken database, uvicorn exits with 3.
    """
    os.umask(0o077)
    log.configure()
    try:
        settings = Settings.from_environment(os.environ)
        settings.home.mkdir(parents=True, exist_ok=True)
        app = create_app(settings)
        listener = listen(settings)
    except (IPUlseError, ValidationError, OSError) as error:
        _log.error("cannot_start", extra={"error": str(error)})
        return 2
    gc.freeze()  # modules stay; looking through them again holds all requests up
    gc.enable()
    server(app, settings, listener).run(sockets=[listener])
    return 0


def server(app: FastAPI, settings: Settings, listener: socket.socket) -> Server:
    """What serves the application on a listening socket until SIGTERM or SIGINT."""
    config = uvicorn.Config(
        app,
        http=SlowClientProtocol,
        ws="none",  # nobody here speaks it: such a request is one like any other
        ssl_certfile=settings.tls_certificate,
        ssl_keyfile=settings.tls_key,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=settings.shutdown_seconds,
    )
    host, port = listener.getsockname()[:2]
    url = listening.url_at(host, port, is_tls=settings.tls_key is not None)
    return Server(config, app.state.services, url)


def listen(settings: Settings) -> socket.socket:
    """The socket that was handed down, or one at the address that the settings name.

    Raises Unavailable when that is taken, or what was handed down is no socket.
    """
    if settings.listen_fd is None:
        return listening.listen(settings.host, settings.port)
    try:
        listener = socket.socket(fileno=settings.listen_fd)
    except OSError as error:
        told = f"IPULSE_LISTEN_FD={settings.listen_fd} is no socket ({error.strerror})"
        raise Unavailable(f"{told}: unset it, and the service listens by itself") from error
    listener.set_inheritable(False)
    return listener


def _announce(path: Path, url: str) -> None:
    # Renamed into place, so that nobody reads half of it.
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(json.dumps({"url": url, "pid": os.getpid()}))
    draft.replace(path)


def _withdraw(path: Path) -> None:
    try:
        if json.loads(path.read_text())["pid"] == os.getpid():
            path.unlink()
    except (OSError, ValueError, KeyError):
        _log.warning("server_json_not_ours", extra={"path": str(path)})
