"""The home of an agent that has joined the service of another machine."""

from __future__ import annotations

import os
import secrets
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from ipulse.stack.home import TOKEN_BYTES, Home, write_private
from ipulse_core import strict_json
from ipulse_core.errors import InvalidJSON, NotFound, Unavailable

_DEFAULT_HOME = "~/.local/state/ipulse-agent"


@dataclass(frozen=True)
class Membership:
    """The service that an agent has joined, as the agent's home stores it."""

    url: str
    name: str
    token: str = field(repr=False)
    certificate: str = ""  # path of the pinned certificate, or of the service's authority
    is_pinned: bool = False

    @classmethod
    def read(cls, path: Path) -> Membership:
        """Read a file. Raises NotFound without one, Unavailable for a damaged one."""
        try:
            value = strict_json.loads(path.read_bytes())
            return cls(**value)
        except FileNotFoundError:
            raise NotFound(
                f"{path} does not exist: no agent of this home has joined a service. "
                "`ipulse agent token` on the service's machine prints the command that joins"
            ) from None
        except (OSError, InvalidJSON, TypeError) as error:
            raise Unavailable(
                f"{path} cannot be read ({type(error).__name__}): join again"
            ) from error

    def write(self, path: Path) -> None:
        """Write the file, atomically and readable only by this user."""
        write_private(path, strict_json.dumps(asdict(self)) + "\n")

    def with_token(self, token: str) -> Membership:
        """Return the membership with another token."""
        return replace(self, token=token)


class AgentHome(Home):
    """A private folder with an agent's token, its logs and its work; one process uses it."""

    user = "agent"
    variable = "IPULSE_AGENT_HOME"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.membership_file = self.path / "agent.json"
        self._instance_file = self.path / "instance"

    @classmethod
    def at(cls, path: Path | None) -> AgentHome:
        """Return the home at a path, by default at IPULSE_AGENT_HOME."""
        chosen = path or os.environ.get(cls.variable) or _DEFAULT_HOME
        return cls(Path(chosen))

    def open(self) -> None:
        """Lock the home for this process and create its folder.

        Raises Conflict if another process has locked it, Unavailable if it cannot be created or if
        other users can read it.
        """
        self._open_folder()

    def instance(self) -> str:
        """Return the secret by which the service recognises this machine; made once."""
        if not self._instance_file.exists():
            write_private(self._instance_file, secrets.token_urlsafe(TOKEN_BYTES))
        return self._instance_file.read_text("ascii").strip()

    def forget(self) -> None:
        """Delete what the home knows of the service."""
        for file in (self.membership_file, self.certificate_file):
            file.unlink(missing_ok=True)
