"""Finding the service and its token, and never showing the token."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from ipulse.client import AsyncConnection, Connection
from ipulse.client.location import ServiceLocation, find_service
from ipulse_core.errors import InvalidInput, IPUlseError, NotAuthenticated, NotFound, Unavailable
from tests.ipulse.client.conftest import HIDDEN, job_of
from tests.ipulse.scripted_server import ScriptedServer, problem_answer

LAB = {"url": "https://lab.example:8470/", "token_file": "token"}  # as ipulse.toml names it


class TestOrder:
    def test_the_home_gives_address_and_token(self, home: Path) -> None:
        assert find_service(environment={"IPULSE_HOME": str(home)}) == ServiceLocation(
            "http://127.0.0.1:8471", HIDDEN
        )

    def test_the_home_gives_the_token_for_its_own_address_of_any_kind(self, home: Path) -> None:
        """The home of `ipulse up --tls --host 192.0.2.10`."""
        (home / "server.json").write_text(json.dumps({"url": "https://192.0.2.10:8470", "pid": 1}))
        location = find_service(environment={"IPULSE_HOME": str(home)})
        assert location == ServiceLocation("https://192.0.2.10:8470", HIDDEN)
        assert location.is_local  # no proxy leads to it

    def test_the_environment_comes_before_the_home(self, home: Path) -> None:
        known = {"IPULSE_URL": "http://127.0.0.1:9", "IPULSE_TOKEN": "b", "IPULSE_HOME": str(home)}
        assert find_service(environment=known) == ServiceLocation("http://127.0.0.1:9", "b")

    def test_arguments_come_before_the_environment(self, home: Path, tmp_path: Path) -> None:
        known = {"IPULSE_URL": "http://127.0.0.1:9", "IPULSE_TOKEN": "b"}
        location = find_service("https://train.example:8470/", "c", environment=known)
        assert location == ServiceLocation("https://train.example:8470", "c")
        file = tmp_path / "other"
        file.write_text("d\n")
        assert find_service(token_file=file, environment=known) == ServiceLocation(
            "http://127.0.0.1:9", "d"
        )

    def test_a_token_file_of_the_environment(self, home: Path) -> None:
        known = {"IPULSE_URL": "https://train.example", "IPULSE_TOKEN_FILE": str(home / "token")}
        assert find_service(environment=known).token == HIDDEN

    def test_an_address_with_a_path_is_kept(self) -> None:
        assert find_service("https://example.org/ipulse/", "t").url == "https://example.org/ipulse"


class TestRefusal:
    def test_without_a_service_the_hint_is_to_start_one(self, tmp_path: Path) -> None:
        with pytest.raises(Unavailable, match=r"start one with `ipulse up`.*IPULSE_URL"):
            find_service(environment={"IPULSE_HOME": str(tmp_path)})

    @pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff", b'{"url": NaN}'], ids=repr)
    def test_a_broken_server_file_is_an_error(self, home: Path, content: bytes) -> None:
        (home / "server.json").write_bytes(content)
        with pytest.raises((Unavailable, InvalidInput), match=r"server.json|address"):
            find_service(environment={"IPULSE_HOME": str(home)})

    def test_the_token_at_home_is_not_shown_to_another_machine(self, home: Path) -> None:
        known = {"IPULSE_URL": "http://evil.example", "IPULSE_HOME": str(home)}
        with pytest.raises(NotAuthenticated, match=r"no token for http://evil\.example"):
            find_service(environment=known)

    @pytest.mark.parametrize(
        "url",
        [
            "",
            "127.0.0.1:8470",
            "ftp://127.0.0.1",
            "http://",
            "http://a:b@c",
            "http://a?t=1",
            "a\0b",
        ],
        ids=repr,
    )
    def test_what_is_no_address(self, url: str, tmp_path: Path) -> None:
        known = {"IPULSE_HOME": str(tmp_path)}
        with pytest.raises((InvalidInput, Unavailable)):
            find_service(url, HIDDEN, environment=known)

    @pytest.mark.parametrize("content", ["two words", "zw\u00f6lf", "a\x1bb", ""], ids=repr)
    def test_what_is_no_token_is_not_repeated(self, tmp_path: Path, content: str) -> None:
        file = tmp_path / "token"
        file.write_text(content, encoding="utf-8")
        with pytest.raises(NotAuthenticated, match="token" if content else "is empty") as caught:
            find_service("http://127.0.0.1:1", token_file=file)
        assert not content or content not in str(caught.value)

    def test_a_missing_token_file(self, tmp_path: Path) -> None:
        with pytest.raises(NotAuthenticated, match="there is no token file"):
            find_service("http://127.0.0.1:1", token_file=tmp_path / "none")

    def test_a_token_file_that_is_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(NotAuthenticated, match="directory"):
            find_service("http://127.0.0.1:1", token_file=tmp_path)


class TestSecrecy:
    def test_no_representation_shows_the_token(self) -> None:
        with Connection("http://127.0.0.1:1", HIDDEN, retries=0) as client:
            shown = [
                repr(client),
                str(client),
                repr(vars(client)),
                repr(client._transport.http.headers),
            ]
        shown += [
            repr(AsyncConnection("http://127.0.0.1:1", HIDDEN)),
            repr(find_service("http://h:1", HIDDEN)),
        ]
        assert all(HIDDEN not in text for text in shown)

    def test_no_error_shows_the_token(self) -> None:
        client = Connection("http://127.0.0.1:1", HIDDEN, retries=0)
        with client, pytest.raises(IPUlseError) as caught:
            job_of(client).refresh()
        error: object = caught.value
        while isinstance(error, BaseException):
            assert HIDDEN not in str(error) + repr(error)
            error = error.__cause__

    def test_no_log_shows_the_token(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.DEBUG)
        with ScriptedServer(lambda _: problem_answer(404, "not_found")) as server:
            client = Connection(server.url, HIDDEN)
            with client, pytest.raises(NotFound):
                job_of(client).refresh()
        assert "job_1" in caplog.text  # it is the libraries below that log
        assert HIDDEN not in caplog.text

    def test_a_local_service_is_spoken_to_without_a_proxy(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
        with Connection("http://127.0.0.1:2", HIDDEN, retries=0) as client:
            with pytest.raises(Unavailable, match=r"no service at http://127\.0\.0\.1:2"):
                job_of(client).refresh()
            assert not client._transport.http._mounts


class TestProjectFile:
    """ipulse.toml, in the working directory or above it."""

    @pytest.fixture
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        for name in ("IPULSE_URL", "IPULSE_TOKEN", "IPULSE_TOKEN_FILE", "IPULSE_HOME"):
            monkeypatch.delenv(name, raising=False)
        (tmp_path / "project" / "deep").mkdir(parents=True)
        (tmp_path / "token").write_text("outside")
        (tmp_path / "project" / "token").write_text(HIDDEN)
        monkeypatch.chdir(tmp_path / "project" / "deep")
        return tmp_path / "project"

    @staticmethod
    def write(folder: Path, **fields: str) -> None:
        text = "".join(f"{name} = {json.dumps(value)}\n" for name, value in fields.items())
        (folder / "ipulse.toml").write_text(text)

    def test_it_names_address_and_token(self, folder: Path) -> None:
        self.write(folder, **LAB)
        found = find_service(environment={})
        assert found == ServiceLocation("https://lab.example:8470", HIDDEN)
        assert found.url_from == str(folder / "ipulse.toml")
        assert found.token_from == str(folder / "token")

    def test_arguments_and_environment_come_before_it(self, folder: Path, home: Path) -> None:
        self.write(folder, **LAB)
        known = {"IPULSE_URL": "http://127.0.0.1:9", "IPULSE_TOKEN": "b"}
        assert find_service(environment=known).url == "http://127.0.0.1:9"
        assert find_service("http://a.example", "t", environment={}).url == "http://a.example"
        assert find_service(environment={"IPULSE_HOME": str(home)}).is_at_home
        assert find_service(None, HIDDEN[::-1], environment={}).token == HIDDEN[::-1]

    def test_no_token_of_the_environment_is_sent_to_its_address(self, folder: Path) -> None:
        self.write(folder, url="https://evil.example")
        with pytest.raises(NotAuthenticated, match=r"ipulse\.toml"):
            find_service(environment={"IPULSE_TOKEN": HIDDEN})

    @pytest.mark.parametrize(
        "fields",
        [
            {"url": "https://evil.example", "token_file": "../token"},
            {"url": "https://evil.example", "token_file": "link"},
            {"url": "https://evil.example", "token_file": "/etc/passwd"},
            {"token_file": "token"},
            {"url": "https://a.example", "tokenfile": "token"},
            {"url": "ftp://a.example", "token_file": "token"},
        ],
    )
    def test_a_wrong_one_is_refused(self, folder: Path, fields: dict[str, str]) -> None:
        (folder / "link").symlink_to("../token")
        self.write(folder, **fields)
        with pytest.raises(InvalidInput):
            find_service(environment={})

    def test_what_is_no_toml_is_refused(self, folder: Path) -> None:
        for content in (b"url = ", b"\xff", b"url = 5", b"#\n" * 2**15 + b"#"):
            (folder / "ipulse.toml").write_bytes(content)
            with pytest.raises(InvalidInput, match=r"ipulse\.toml"):
                find_service(environment={})
