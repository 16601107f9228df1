"""How this machine reaches its IPUs, and what a sandboxed process gets of them.

Cards are device files, of which a process gets those of its own IPUs. IPU-Machines are reached over
a network card and the controller's address (IPU over Fabric): a process gets the machine's network,
if the operator allows it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Dict, Iterable, List, Mapping, NamedTuple, Optional

from ipulse_core.sandbox.device_access import DeviceAccess
from ipulse_core.sandbox.unavailable import SandboxUnavailable
from ipulse_worker.runner.devices.pool import DeviceUnavailable

NETWORK_VARIABLE = "IPULSE_IPU_SANDBOX_NETWORK"
CONFIG_VARIABLE = "IPUOF_CONFIG_PATH"
CONTROLLER = "IPUOF_VIPU_API_HOST"
FABRIC_VARIABLES = (
    CONTROLLER,
    *(f"IPUOF_VIPU_API_{name}" for name in ("PORT", "PARTITION_ID", "GCD_ID", "TIMEOUT")),
)
_CONFIG_FOLDER = ".ipuof.conf.d"  # in the home folder, where Poplar looks first
_CONFIG_PLACE = "/etc/ipuof.conf"  # in the sandbox
DEVICES = Path("/dev")
_CARD = re.compile(r"ipu(\d+)")
# Drivers and the library of the network card look for devices here, and for names of hosts.
_HARDWARE = ("/sys/bus", "/sys/class", "/sys/dev", "/sys/devices")
_NAMES = ("/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf")


class IPULink(NamedTuple):
    """The IPUs of this machine as files and variables."""

    cards: List[int]  # numbers of /dev/ipuN; none for IPU over Fabric
    variables: Dict[str, str]  # of IPU over Fabric; none for cards
    has_network: bool  # the operator lets sandboxed processes use the network

    @classmethod
    def of_machine(cls, environment: Mapping[str, str]) -> IPULink:
        """Return how this machine reaches its IPUs. Raises DeviceUnavailable if it has none."""
        has_network = environment.get(NETWORK_VARIABLE) == "1"
        variables = _fabric_variables(environment)
        cards = [] if variables else _cards()
        if not variables and not cards:
            raise DeviceUnavailable(
                f"this worker has no IPU for a program: it has no file {DEVICES}/ipu0, and neither "
                f"{CONTROLLER} nor {CONFIG_VARIABLE} is set"
            )
        return cls(cards, variables, has_network)

    def require_network(self) -> None:
        """Raise SandboxUnavailable if the IPUs need the network and it is not allowed."""
        if self.variables and not self.has_network:
            raise SandboxUnavailable(
                "the IPUs of this worker are reached over its network (IPU over Fabric), which "
                f"code of users may not use: set {NETWORK_VARIABLE}=1 on a worker whose network "
                "you trust them with"
            )

    def access(self, chosen: Iterable[int]) -> DeviceAccess:
        """Return what a sandboxed process needs for some of the cards, by their indices.

        Raises SandboxUnavailable if it could not open their files.
        """
        files = {place: Path(place) for place in _HARDWARE if os.path.isdir(place)}
        if self.cards:
            return DeviceAccess(_nodes([self.cards[index] for index in chosen]), files)
        files.update({place: Path(place) for place in _NAMES if os.path.exists(place)})
        variables = dict(self.variables)
        if CONFIG_VARIABLE in variables:
            files[_CONFIG_PLACE] = Path(variables[CONFIG_VARIABLE])
            variables[CONFIG_VARIABLE] = _CONFIG_PLACE
        verbs = DEVICES / "infiniband"
        nodes = {"/dev/infiniband": verbs} if verbs.is_dir() else {}
        return DeviceAccess(nodes, files, variables, has_network=True)

    def unconfined(self) -> DeviceAccess:
        """Return what a process without a sandbox needs: only the variables."""
        return DeviceAccess(variables=self.variables)


def _fabric_variables(environment: Mapping[str, str]) -> Dict[str, str]:
    """Return the controller's address or the configuration's path: never both, as Poplar wants."""
    named = environment.get(CONFIG_VARIABLE) or _only_configuration(environment)
    if environment.get(CONTROLLER):
        return {name: environment[name] for name in FABRIC_VARIABLES if environment.get(name)}
    return {CONFIG_VARIABLE: named} if named else {}


def _only_configuration(environment: Mapping[str, str]) -> Optional[str]:
    home = environment.get("HOME")
    found = sorted(Path(home, _CONFIG_FOLDER).glob("*.conf")) if home else []
    return str(found[0]) if len(found) == 1 else None


def _cards() -> List[int]:
    found = map(_CARD.fullmatch, os.listdir(str(DEVICES)))
    return sorted(int(match.group(1)) for match in found if match)


def _nodes(cards: Iterable[int]) -> Dict[str, Path]:
    """Return the device files of some cards: /dev/ipuN and those that begin with /dev/ipuN_."""
    nodes: Dict[str, Path] = {}
    for card in cards:
        name = f"ipu{card}"
        for path in sorted([DEVICES / name, *DEVICES.glob(f"{name}_*")]):
            _require_open(path)
            nodes[f"/dev/{path.name}"] = path
    return nodes


def _require_open(path: Path) -> None:
    """Raise SandboxUnavailable if the user that programs get may not open a device file."""
    if os.geteuid() == 0 and path.stat().st_mode & 0o006 != 0o006:
        raise SandboxUnavailable(
            f"{path} is not open to all users, and an agent that runs as root gives programs a "
            "user without rights: run the agent as a user of the file's group"
        )
