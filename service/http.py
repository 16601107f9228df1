"""HTTP/1.1 as uvicorn speaks it, with problem documents where no request could be read."""

from __future__ import annotations

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from . import log, problems


class Protocol(H11Protocol):
    """Refuses what is no HTTP before there is an application to ask."""

    def send_400_response(self, msg: str) -> None:
        log.request_id.set("")
        body = bytes(problems.document("", 400, "not_http", msg).body)
        headers = [
            ("content-type", problems.MEDIA_TYPE),
            ("content-length", str(len(body))),
            ("x-content-type-options", "nosniff"),
            ("connection", "close"),
        ]
        for event in (
            h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
