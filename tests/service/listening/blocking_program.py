"""The service as a program with one more route, which blocks the event loop that it runs on."""

from __future__ import annotations

import os
import time

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ipulse_service.http import log_context
from ipulse_service.http.app import create_app
from ipulse_service.program import listen, server
from ipulse_service.settings import Settings


async def block(request: Request) -> Response:
    """Blocks the loop for the seconds in the query."""
    time.sleep(float(request.query_params["seconds"]))
    return Response()


def main() -> None:
    """Runs the service until a signal ends it."""
    log_context.configure()
    settings = Settings.from_environment(os.environ)
    app = create_app(settings)
    app.router.routes.insert(0, Route("/v1/block", block))
    listener = listen(settings)
    server(app, settings, listener).run(sockets=[listener])


if __name__ == "__main__":
    main()
