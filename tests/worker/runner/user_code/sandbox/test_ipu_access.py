"""A program on an IPU's host gets its own devices, and nothing else of the machine."""

import os
import socket
from pathlib import Path
from typing import Dict, Iterator

import pytest

from ipulse_core.sandbox import bubblewrap
from ipulse_core.sandbox.unavailable import SandboxUnavailable
from ipulse_worker.runner.devices import ipu_link
from ipulse_worker.runner.devices.ipu_link import IPULink
from ipulse_worker.runner.devices.pool import DeviceUnavailable
from tests.core.sandbox.place import Place
from tests.sdk_fake import make_cards

try:
    bubblewrap.require_bubblewrap()
except SandboxUnavailable as problem:
    pytest.skip(str(problem), allow_module_level=True)

FABRIC = {"IPUOF_VIPU_API_HOST": "127.0.0.1", "IPUOF_VIPU_API_PARTITION_ID": "p1"}


@pytest.fixture
def devices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in place of /dev, without a card."""
    made = tmp_path / "dev"
    made.mkdir()
    monkeypatch.setattr(ipu_link, "DEVICES", made)
    return made


@pytest.fixture
def cards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> IPULink:
    """A host with four cards."""
    make_cards(tmp_path / "cards", 4)
    monkeypatch.setattr(ipu_link, "DEVICES", tmp_path / "cards")
    return IPULink.of_machine({})


@pytest.fixture
def port() -> Iterator[int]:
    """The port of a server of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_it_sees_its_own_cards_and_not_those_of_another_attempt(
    place: Place, cards: IPULink
) -> None:
    place.run(
        "cd /dev; echo ipu*; echo x > ipu2_mem && echo written; echo x > ipu0 || echo refused; "
        "mknod /tmp/made c 1 3 || mknod ipu0 c 1 3 || echo unmade; ls /sys/class > /dev/null && "
        "echo sys; touch /sys/class/x 2> /dev/null || echo read-only",
        cards.access([2]),
    )
    assert "ipu2 ipu2_ex ipu2_mailbox ipu2_mem" in place.lines
    assert {"written", "refused", "unmade", "sys", "read-only"} <= set(place.lines)


def test_without_devices_there_are_none(place: Place, cards: IPULink) -> None:
    place.run("echo /dev/ipu* /sys/class")
    assert place.lines == ["/dev/ipu* /sys/class"]
    place.run("ls /sys 2> /dev/null || echo nothing")
    assert place.lines[-1] == "nothing"


def test_a_card_brings_no_network_and_no_secret(place: Place, cards: IPULink, port: int) -> None:
    secret = place.folder / "worker-token"
    secret.write_text("top secret")
    result = place.run(
        f"cat {secret} /proc/*/environ /proc/1/root{secret} /sys/kernel/security 2> /dev/null; "
        f"{_connect(port)}",
        cards.access([0]),
    )
    assert result.status != 0
    assert "top secret" not in "\n".join(place.lines)


def test_over_fabric_it_has_the_network_only_where_that_is_allowed(
    place: Place, devices: Path, port: int
) -> None:
    denied = IPULink.of_machine(FABRIC)
    with pytest.raises(SandboxUnavailable, match="IPULSE_IPU_SANDBOX_NETWORK=1"):
        denied.require_network()
    allowed = IPULink.of_machine({**FABRIC, "IPULSE_IPU_SANDBOX_NETWORK": "1"})
    allowed.require_network()
    (devices / "infiniband").mkdir()
    (devices / "infiniband" / "uverbs0").symlink_to("/dev/null")
    secret = place.folder / "worker-token"
    secret.write_text("top secret")
    result = place.run(
        f"{_connect(port)} && echo reached $IPUOF_VIPU_API_HOST; ls /dev/infiniband; cat {secret} "
        "/proc/*/environ 2> /dev/null; kill -0 1 || true",
        allowed.access([]),
    )
    assert result.status == 0
    assert {"reached 127.0.0.1", "uverbs0"} <= set(place.lines)
    assert "top secret" not in "\n".join(place.lines)
    # The next process on the same machine has neither again.
    place.lines.clear()
    assert place.run(_connect(port)).status != 0
    place.run("echo $IPUOF_VIPU_API_HOST; echo /dev/infi*")
    assert place.lines[-1] == "/dev/infi*"


@pytest.mark.parametrize("value", ["", "0", "true", "yes"])
def test_only_one_value_allows_the_network(devices: Path, value: str) -> None:
    link = IPULink.of_machine({**FABRIC, "IPULSE_IPU_SANDBOX_NETWORK": value})
    with pytest.raises(SandboxUnavailable):
        link.require_network()


def test_a_configuration_is_shown_at_another_place(place: Place, devices: Path) -> None:
    home = place.folder / "home"
    path = home / ".ipuof.conf.d" / "p1.conf"
    path.parent.mkdir(parents=True)
    path.write_text("partition")
    path.parent.chmod(0o755)
    home.chmod(0o755)
    environment: Dict[str, str] = {"HOME": str(home), "IPULSE_IPU_SANDBOX_NETWORK": "1"}
    link = IPULink.of_machine(environment)
    place.run(f'cat "$IPUOF_CONFIG_PATH"; echo; ls {home} || echo hidden', link.access([]))
    assert {"partition", "hidden"} <= set(place.lines)
    # The controller's address and a file would disturb each other.
    both = IPULink.of_machine({**environment, **FABRIC})
    assert both.variables == FABRIC


def test_a_machine_without_ipus_says_what_it_lacks(devices: Path) -> None:
    with pytest.raises(DeviceUnavailable, match="IPUOF_VIPU_API_HOST"):
        IPULink.of_machine({})


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives programs another user")
def test_root_does_not_hand_out_files_that_programs_cannot_open(devices: Path) -> None:
    (devices / "ipu0").write_text("")
    (devices / "ipu0").chmod(0o660)
    with pytest.raises(SandboxUnavailable, match="group"):
        IPULink.of_machine({}).access([0])


def _connect(port: int) -> str:
    program = f"import socket; socket.create_connection(('127.0.0.1', {port}), timeout=5)"
    return f'python3 -c "{program}" 2> /dev/null'
