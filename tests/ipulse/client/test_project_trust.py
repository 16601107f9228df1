"""An ipulse.toml that others could write decides nothing without its user."""

from __future__ import annotations

import io
import os
import ssl
import sys
from pathlib import Path

import pytest

from ipulse.client import project_trust
from ipulse.client.location import find_service
from ipulse.client.project_file import ProjectFile, find_project_file
from ipulse.client.project_trust import UntrustedProject
from ipulse.stack import tls
from ipulse_core.errors import InvalidInput

URL = "http://127.0.0.1:9"


class Terminal(io.StringIO):
    """A terminal on which a user answers."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder below one with an ipulse.toml, as the working directory."""
    project = tmp_path / "project"
    inner = project / "experiments"
    inner.mkdir(parents=True)
    (project / "ipulse.toml").write_text(f'url = "{URL}"\ntoken_file = "token"\n')
    (project / "token").write_text("a-token")
    for path in (project, project / "ipulse.toml"):
        path.chmod(0o700)
    monkeypatch.chdir(inner)
    return project


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    """Two authorities: that of the service, and that of somebody else."""
    good, bad = (tls.self_signed(tmp_path_factory.mktemp("made"))[0] for _ in range(2))
    return good.read_bytes(), bad.read_bytes()


@pytest.fixture
def authority(folder: Path, certificates: tuple[bytes, bytes]) -> Path:
    """The file of the project's authority, in a folder of its own."""
    file = folder / "trust" / "authority.pem"
    file.parent.mkdir(mode=0o700)
    file.write_bytes(b"# R\xc3\xb6t\n" + certificates[0])
    file.chmod(0o600)
    name_authority(folder, "trust/authority.pem")
    return file


def name_authority(folder: Path, name: str) -> None:
    text = f'url = "https://127.0.0.1:9"\ntoken_file = "token"\nca = "{name}"\n'
    (folder / "ipulse.toml").write_text(text)


def trusted(folder: Path, ca: Path | None = None) -> list[bytes]:
    """Return the authorities that a connection to the service would accept."""
    location = find_service(environment={"HOME": str(folder.parent / "home")}, ca=ca)
    assert location.trust is not None
    return location.trust.get_ca_certs(binary_form=True)


def der(certificate: bytes) -> bytes:
    return ssl.PEM_cert_to_DER_cert(certificate.decode())


def accept(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", Terminal("yes\n"))
        patch.setattr(sys, "stderr", Terminal())
        trusted(folder)


def found(folder: Path) -> str:
    return find_service(environment={"HOME": str(folder.parent / "home")}).url


def test_a_file_that_only_its_user_writes_is_used(folder: Path) -> None:
    assert found(folder) == URL


@pytest.mark.parametrize("place", ["folder", "file"])
def test_one_that_everybody_writes_is_refused_without_a_terminal(folder: Path, place: str) -> None:
    (folder if place == "folder" else folder / "ipulse.toml").chmod(0o777)
    with pytest.raises(UntrustedProject) as caught:
        found(folder)
    detail = caught.value.problems[0].detail
    assert URL in detail
    assert "--url" in detail
    assert "chmod go-w" in detail


def test_one_of_another_user_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The file belongs to the user of this process, who is now another one.
    monkeypatch.setattr(os, "getuid", lambda: 54_321)
    if folder.stat().st_uid == 0:
        os.chown(folder / "ipulse.toml", 54_322, -1)
    with pytest.raises(UntrustedProject, match="belongs to"):
        found(folder)


def test_who_accepts_it_once_is_not_asked_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.chmod(0o777)
    shown = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal("yes\n"))
    monkeypatch.setattr(sys, "stderr", shown)
    assert found(folder) == URL
    assert URL in shown.getvalue()
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    assert found(folder) == URL
    # Another content is another question.
    (folder / "ipulse.toml").write_text('url = "http://127.0.0.1:10"\ntoken_file = "token"\n')
    with pytest.raises(UntrustedProject):
        found(folder)


def test_who_declines_sends_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.chmod(0o777)
    monkeypatch.setattr(sys, "stdin", Terminal("\n"))
    monkeypatch.setattr(sys, "stderr", Terminal())
    with pytest.raises(UntrustedProject):
        found(folder)
    project = find_project_file()
    assert project is not None
    assert project_trust.who_could_write(project) is not None


def test_another_address_does_not_need_it(folder: Path) -> None:
    folder.chmod(0o777)
    environment = {"HOME": str(folder), "IPULSE_URL": "http://127.0.0.1:11", "IPULSE_TOKEN": "t"}
    assert find_service(environment=environment).url == "http://127.0.0.1:11"


def test_an_authority_that_only_its_user_writes_is_used(
    folder: Path, authority: Path, certificates: tuple[bytes, bytes]
) -> None:
    assert trusted(folder) == [der(certificates[0])]


@pytest.mark.parametrize("place", ["authority.pem", "."])
def test_an_authority_that_everybody_writes_is_refused(
    folder: Path, authority: Path, place: str
) -> None:
    (authority.parent / place).chmod(0o777)
    with pytest.raises(UntrustedProject, match="trust"):
        trusted(folder)


@pytest.mark.parametrize("name", ["open/authority.pem", "open/trust/authority.pem"])
def test_an_authority_behind_a_link_that_everybody_replaces_is_refused(
    folder: Path, authority: Path, name: str
) -> None:
    (folder / "open").mkdir()
    (folder / "open" / "authority.pem").symlink_to("../trust/authority.pem")
    (folder / "open" / "trust").symlink_to("../trust")
    name_authority(folder, name)
    (folder / "open").chmod(0o700)
    assert trusted(folder)
    (folder / "open").chmod(0o777)
    with pytest.raises(UntrustedProject, match="open"):
        trusted(folder)
    # A private link to it does not help.
    (folder / "link.pem").symlink_to(name)
    name_authority(folder, "link.pem")
    with pytest.raises(UntrustedProject, match="open"):
        trusted(folder)


def test_another_authority_is_another_question(
    folder: Path,
    authority: Path,
    certificates: tuple[bytes, bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    authority.parent.chmod(0o777)
    accept(monkeypatch, folder)
    assert trusted(folder) == [der(certificates[0])]
    authority.write_bytes(certificates[1])
    with pytest.raises(UntrustedProject):
        trusted(folder)
    # Nor may bytes move from one file to the other.
    project = folder / "ipulse.toml"
    project.write_bytes(project.read_bytes() + b"# R\xc3\xb6t\n")
    authority.write_bytes(certificates[0])
    with pytest.raises(UntrustedProject):
        trusted(folder)


def test_what_is_replaced_during_the_check_is_not_used(
    folder: Path,
    authority: Path,
    certificates: tuple[bytes, bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder.chmod(0o777)
    accept(monkeypatch, folder)
    good = (folder / "ipulse.toml").read_bytes()
    check = project_trust.who_could_write

    def replaced(project: ProjectFile) -> str | None:
        authority.write_bytes(certificates[1])
        (folder / "ipulse.toml").write_bytes(good)
        return check(project)

    monkeypatch.setattr(project_trust, "who_could_write", replaced)
    assert trusted(folder) == [der(certificates[0])]
    # The accepted file takes the place of another one as soon as that has been parsed.
    authority.write_bytes(b"# R\xc3\xb6t\n" + certificates[0])
    (folder / "ipulse.toml").write_bytes(good.replace(b":9", b":10"))
    with pytest.raises(UntrustedProject, match=":10"):
        trusted(folder)


@pytest.mark.parametrize("content", [b"", b"no certificate", None])
def test_an_unusable_authority_never_means_those_of_the_machine(
    folder: Path, authority: Path, content: bytes | None
) -> None:
    authority.unlink() if content is None else authority.write_bytes(content)
    with pytest.raises(InvalidInput, match=r"authority\.pem"):
        trusted(folder)


def test_an_authority_that_is_named_in_its_place_is_used(
    folder: Path, authority: Path, tmp_path: Path, certificates: tuple[bytes, bytes]
) -> None:
    authority.unlink()
    (tmp_path / "own.pem").write_bytes(certificates[1])
    assert trusted(folder, tmp_path / "own.pem") == [der(certificates[1])]
