"""Sends as many requests as one process can: a user's program that runs wild.

`python flood.py HOST PORT CONNECTIONS` reads the request from its input, prints a line as soon as
each connection has had an answer, and floods until it is killed.
"""

from __future__ import annotations

import asyncio
import sys


async def send(host: str, port: int, request: bytes, answered: asyncio.Semaphore) -> None:
    """Sends the request again and again on one connection."""
    reader, writer = await asyncio.open_connection(host, port)
    while True:
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        await reader.readexactly(int(length))
        answered.release()


async def flood(host: str, port: int, connections: int, request: bytes) -> None:
    """Floods until the process is killed."""
    answered = asyncio.Semaphore(0)
    sending = [asyncio.create_task(send(host, port, request, answered)) for _ in range(connections)]
    for _ in range(connections):
        await answered.acquire()
    sys.stdout.write("flooding\n")
    sys.stdout.flush()
    await asyncio.gather(*sending)


if __name__ == "__main__":
    asyncio.run(flood(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.stdin.buffer.read()))
