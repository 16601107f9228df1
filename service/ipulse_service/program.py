"""The service as a program: listens, announces its URL in server.json, and serves until stopped."""

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

from ipulse.stack import listening
from ipulse.stack.program_log import CANNOT_START
from ipulse_core.errors import IPUlseError, Unavailable
from ipulse_core.worker_faults import errors_name
from ipulse_service.http import log_context as log
from ipulse_service.http.app import create_app
from ipulse_service.http.server.accept_queue import Listener
from ipulse_service.http.server.request_log import WarningLimit
from ipulse_service.http.server.uvicorn_protocol import SlowClientProtocol
from ipulse_service.http.startup import Startup, one_line
from ipulse_service.http.state import AppState
from ipulse_service.settings import Settings

# Connections that one turn of the event loop accepts, so that agents do not wait for all others.
ACCEPTED_AT_ONCE = 2
# Agents keep their connections for 15 s between two heartbeats: a new one may have to wait in line.
KEEP_ALIVE_SECONDS = 20

_log = logging.getLogger(__name__)


class Server(uvicorn.Server):
    """Announces the URL once the service listens, and ends open streams when it stops."""

    def __init__(self, config: uvicorn.Config, state: AppState, url: str) -> None:
        super().__init__(config)
        self._state = state
        state.startup.on_failure = self._give_up
        self._url = url
        self._announcement = state.settings.home / "server.json"

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Starts to listen, and writes server.json."""
        await super().startup(sockets=sockets)
        for listener in sockets or ():
            listener.listen(listening.BACKLOG)  # more may wait in the kernel
        self._state.lanes.listeners = [each for each in sockets or () if isinstance(each, Listener)]
        if self.started and not self.should_exit:
            try:
                _announce(self._announcement, self._url)
            except OSError as error:
                self._state.startup.fail(one_line(error))
            else:
                _log.info("listening", extra={"url": self._url})

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Removes server.json, and stops to listen."""
        _withdraw(self._announcement)
        await super().shutdown(sockets=sockets)
        _log.info("stopped")

    def _give_up(self) -> None:
        self.should_exit = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stops the service; a second Ctrl-C does not wait for requests in progress."""
        self._state.notifier.stop()
        # Uvicorn's own handler raises the signal again at the end; a clean stop exits with 0 here.
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


def main() -> int:
    """Runs the service, and returns the exit code.

    It is 0 after a clean stop, 2 for invalid settings, and 3 if the service can never start, for
    instance because the database is damaged. The log says why in one sentence.
    """
    os.umask(0o077)
    log.configure()
    WarningLimit.install()
    try:
        settings = Settings.from_environment(os.environ)
        settings.home.mkdir(parents=True, exist_ok=True)
        app = create_app(settings)
        listener = listen(settings)
        running = server(app, settings, listener)
        _load(running.config, settings)
    except (IPUlseError, OSError) as error:
        _log.error(CANNOT_START, extra={"error": one_line(error)})
        return 2
    gc.freeze()  # modules are never freed: excluding them shortens the pauses of the collector
    gc.enable()
    running.run(sockets=[listener])
    startup: Startup = app.state.services.startup
    return 0 if startup.failure is None else 3


def _load(config: uvicorn.Config, settings: Settings) -> None:
    """Reads the certificate and its key. Raises Unavailable, which names them."""
    try:
        config.load()
    except OSError as error:  # no error of the library names the file
        raise Unavailable(
            f"cannot use the certificate {settings.tls_certificate} with the key "
            f"{settings.tls_key} ({error.strerror or error}): IPULSE_TLS_CERTIFICATE and "
            "IPULSE_TLS_KEY name PEM files that the user of the service can read"
        ) from error


def server(app: FastAPI, settings: Settings, listener: socket.socket) -> Server:
    """Returns the server of an application on a listening socket; SIGTERM and SIGINT stop it."""
    config = uvicorn.Config(
        app,
        http=SlowClientProtocol,
        ws="none",  # an upgrade request is answered as an ordinary request
        ssl_certfile=settings.tls_certificate,
        ssl_keyfile=settings.tls_key,
        log_config=None,
        access_log=False,
        server_header=False,
        backlog=ACCEPTED_AT_ONCE,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        proxy_headers=False,
        timeout_graceful_shutdown=settings.shutdown_seconds,
    )
    host, port = listener.getsockname()[:2]
    url = listening.url_at(host, port, is_tls=settings.tls_key is not None)
    return Server(config, app.state.services, url)


def listen(settings: Settings) -> Listener:
    """Returns the inherited socket, or a new one at the address in the settings.

    Raises:
        Unavailable: The address is in use, or the inherited descriptor is no socket.
    """
    if settings.listen_fd is None:
        return Listener.of(listening.listen(settings.host, settings.port))
    try:
        listener = Listener(fileno=settings.listen_fd)
    except OSError as error:
        raise Unavailable(
            f"IPULSE_LISTEN_FD={settings.listen_fd} is no socket ({error.strerror}): "
            "unset it to listen at IPULSE_HOST and IPULSE_PORT"
        ) from error
    listener.set_inheritable(False)
    return listener


def _announce(path: Path, url: str) -> None:
    # Renamed, so that no reader sees an incomplete file.
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with errors_name(draft):
        draft.write_text(json.dumps({"url": url, "pid": os.getpid()}))
    draft.replace(path)


def _withdraw(path: Path) -> None:
    try:
        if json.loads(path.read_text())["pid"] == os.getpid():
            path.unlink()
    except (OSError, ValueError, KeyError):
        _log.warning("server_json_not_ours", extra={"path": str(path)})
