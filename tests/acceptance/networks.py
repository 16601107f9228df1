"""Machines as network namespaces: each has an address of its own and a link that can be cut."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
from contextlib import ExitStack
from types import TracebackType

# The networks for documentation of RFC 5737: no address of a public network is hidden.
NETWORKS = ("198.51.100", "203.0.113", "192.0.2")
LINK_SECONDS = 20.0  # in which the first packet must arrive

# Reads what the machine at this address and port sends.
READER = """
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2])), float(sys.argv[3])) as connection:
    print(connection.recv(64).decode())
"""


class NotPermitted(Exception):
    """This machine does not permit network namespaces."""


def _ip(*arguments: str, tool: str = "ip") -> str:
    done = subprocess.run([tool, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotPermitted(f"{tool} {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def _free_network() -> str:
    """Return a network in which this machine has no address: virtual machines use these, too."""
    used = _ip("-oneline", "address", "show")
    free = (network for network in NETWORKS if f" {network}." not in used)
    return next(free, NETWORKS[0])


class OtherMachine:
    """A namespace that reaches this machine at `here` and nothing else."""

    def __init__(self, number: int) -> None:
        """Choose its addresses; `number` is unique among the machines of one test."""
        self._tag = f"{os.getpid() % 10_000}{secrets.token_hex(1)}{number}"
        self.namespace = f"ipulse-{self._tag}"
        self._outside, self._inside = f"ipo{self._tag}", f"ipi{self._tag}"
        self.here = self.there = ""  # known once it is entered
        self._first = 4 * number
        self._undoing = ExitStack()

    def __enter__(self) -> OtherMachine:
        network = _free_network()
        self.here, self.there = f"{network}.{self._first + 1}", f"{network}.{self._first + 2}"
        with ExitStack() as undoing:
            _ip("netns", "add", self.namespace)
            undoing.callback(_ip, "netns", "delete", self.namespace)  # with its end of the link
            _ip("link", "add", self._outside, "type", "veth", "peer", "name", self._inside)
            _ip("link", "set", self._inside, "netns", self.namespace)
            _ip("address", "add", f"{self.here}/30", "dev", self._outside)
            _ip("link", "set", self._outside, "up")
            self._within("ip", "address", "add", f"{self.there}/30", "dev", self._inside)
            self._within("ip", "link", "set", self._inside, "up")
            self._within("ip", "link", "set", "lo", "up")
            self._require_link()
            self._undoing = undoing.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._undoing.close()

    def command(self, *arguments: str) -> list[str]:
        """Return the command that runs a program on this machine."""
        return ["ip", "netns", "exec", self.namespace, *arguments]

    def cut(self) -> None:
        """Cut the link: packets are lost, and neither end is notified."""
        self._within("ip", "link", "set", self._inside, "down")

    def mend(self) -> None:
        """Mend the link."""
        self._within("ip", "link", "set", self._inside, "up")

    def slow(self, rate: str) -> None:
        """Let only so much through, in both directions, such as `1mbit`."""
        shape = ["root", "tbf", "rate", rate, "burst", "4kb", "latency", "500ms"]
        _ip("qdisc", "add", "dev", self._outside, *shape, tool="tc")
        self._within("tc", "qdisc", "add", "dev", self._inside, *shape)

    def _require_link(self) -> None:
        """Raise NotPermitted unless data get through: a firewall of this machine may drop them."""
        with socket.create_server((self.here, 0)) as server:
            server.settimeout(LINK_SECONDS)
            port = str(server.getsockname()[1])
            arguments = [sys.executable, "-c", READER, self.here, port, str(LINK_SECONDS)]
            with subprocess.Popen(
                self.command(*arguments),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            ) as reader:
                try:
                    connection, (address, _) = server.accept()
                    with connection:
                        connection.sendall(address.encode())
                except TimeoutError:
                    pass  # the reader says what it met
                got, complaint = reader.communicate(timeout=2 * LINK_SECONDS)
        if got.strip() != self.there:
            why = complaint.strip().rpartition("\n")[2] or f"it comes from {got.strip()!r}"
            raise NotPermitted(f"{self.there} does not reach {self.here}: {why}")

    def _within(self, *arguments: str) -> None:
        _ip(*self.command(*arguments)[1:])
