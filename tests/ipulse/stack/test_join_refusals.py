"""Joining that is refused has a reason, and uses nothing."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from ipulse.client import Connection
from ipulse.stack.stack import Stack
from ipulse.stack.tls import digest_of, self_signed
from tests.ipulse.stack.guarded import DEADLINE
from tests.ipulse.stack.join_commands import ipulse, ipulse_here, join_line, running
from tests.ipulse.stack.stack_jobs import ENVIRONMENT
from tests.ipulse.stack.test_joining import SECRET


def error(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode != 0
    assert not SECRET.search(done.stdout + done.stderr)
    return str(json.loads(done.stdout)["error"]["code"])


class TestRefusals:
    def test_a_replayed_token(self, stack: Stack, tmp_path: Path) -> None:
        line = join_line(stack)
        with running(tmp_path / "first", *line, "--name", "first"):
            pass
        other = [*line, "--name", "second", "--home", str(tmp_path / "second"), "--json"]
        done = ipulse(*other)
        assert error(done) == "not_authenticated"
        assert done.returncode == 4
        assert not (tmp_path / "second" / "agent.json").exists()

    def test_a_wrong_pin_sends_nothing_and_uses_nothing(self, stack: Stack, tmp_path: Path) -> None:
        line = join_line(stack)
        pin = line.index("--pin") + 1
        wrong = [*line[:pin], "sha256:" + "0" * 64, *line[pin + 1 :]]
        done = ipulse(*wrong, "--home", str(tmp_path / "a"), "--json")
        assert error(done) == "wrong_pin"
        without = [*line[: pin - 1], *line[pin + 1 :]]
        done = ipulse(*without, "--home", str(tmp_path / "a"), "--json")
        assert error(done) == "unavailable"  # no authority of this machine signed it
        with running(tmp_path / "a", *line, "--name", "after-a-wrong-pin"):
            pass

    @pytest.mark.verify
    def test_a_name_in_use(self, stack: Stack, tmp_path: Path) -> None:
        line = join_line(stack, "--uses", "2")
        with running(tmp_path / "first", *line, "--name", "twin"):
            options = ["--name", "twin", "--home", str(tmp_path / "second"), "--json"]
            assert error(ipulse(*line, *options)) == "conflict"
            assert error(ipulse(*line, *options, "--replace")) == "conflict"
            waiting = subprocess.Popen(
                [sys.executable, "-m", "ipulse", *line, *options, "--replace", "--wait"],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, **ENVIRONMENT, "IPULSE_WARM": "0"},
            )
            assert waiting.stderr is not None
            assert waiting.stdout is not None
            assert "twin" in waiting.stderr.readline()
        with waiting:  # the first one has stopped
            assert json.loads(waiting.stdout.readline())["name"] == "twin"
            waiting.send_signal(signal.SIGINT)
            waiting.communicate(timeout=DEADLINE)

    @pytest.mark.verify
    def test_one_that_waits_for_a_service_that_is_away_ends_by_ctrl_c(
        self, stack: Stack, tmp_path: Path
    ) -> None:
        token = join_line(stack)
        with socket.create_server(("127.0.0.1", 0)) as nobody:
            port = nobody.getsockname()[1]
        token[token.index("join") + 1] = f"https://127.0.0.1:{port}"
        command = [sys.executable, "-m", "ipulse", *token, "--wait", "--home", str(tmp_path / "a")]
        waiting = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        with waiting:
            assert waiting.stderr is not None
            assert str(port) in waiting.stderr.readline()
            waiting.send_signal(signal.SIGINT)
            said = waiting.communicate(timeout=DEADLINE)[1]
        assert waiting.returncode == 130
        assert "Traceback" not in said

    @pytest.mark.verify
    def test_an_agent_that_was_removed_ends(self, stack: Stack, tmp_path: Path) -> None:
        home = tmp_path / "removed"
        with running(home, *join_line(stack), "--name", "removed"):
            pass
        kept = (home / "agent.json").read_text()
        assert ipulse("agent", "leave", "--yes", "--home", str(home)).returncode == 0
        (home / "agent.json").write_text(
            kept.replace(f"{home}/certificate.pem", str(stack.certificate_path))
        )
        done = ipulse("agent", "run", "--home", str(home), "--json")
        assert error(done) == "not_permitted"
        assert done.returncode == 4

    @pytest.mark.verify
    def test_of_two_agents_with_one_copied_home_the_former_ends(
        self, stack: Stack, tmp_path: Path
    ) -> None:
        home, copy = tmp_path / "home", tmp_path / "copy"
        with running(home, *join_line(stack), "--name", "cloned") as former:
            copy.mkdir(mode=0o700)
            for name in ("agent.json", "instance"):
                shutil.copy(home / name, copy / name)
            with running(copy, "agent", "run"):
                # It learns of that when its present wait for a wake-up ends, after 50 s at most.
                assert former.wait(2 * DEADLINE) == 4

    @pytest.mark.verify
    def test_a_home_in_use(self, stack: Stack, tmp_path: Path) -> None:
        line = join_line(stack)
        with running(tmp_path / "used", *line, "--name", "user"):
            done = ipulse("agent", "run", "--home", str(tmp_path / "used"), "--json")
            assert error(done) == "conflict"
            done = ipulse("agent", "leave", "--yes", "--home", str(tmp_path / "used"), "--json")
            assert error(done) == "conflict"

    @pytest.mark.verify
    def test_a_refusal_leaves_the_present_membership_alone(
        self, stack: Stack, tmp_path: Path
    ) -> None:
        line = join_line(stack)
        with running(tmp_path / "a", *line, "--name", "stays"):
            pass
        made = self_signed(tmp_path)
        with Stack(tmp_path / "b", agents=0, environment=ENVIRONMENT, certificate=made) as other:
            unknown = ["--token", line[line.index("--token") + 1], "--pin", digest_of(made[0])]
            done = ipulse(
                "agent", "join", other.url, *unknown, "--home", str(tmp_path / "a"), "--json"
            )
            assert error(done) == "not_authenticated"
        with running(tmp_path / "a", "agent", "run"):
            pass

    @pytest.mark.parametrize(
        ("url", "options", "code"),
        [
            ("http://192.0.2.1:8470", [], "invalid_input"),
            ("https://", [], "invalid_input"),
            ("ftp://192.0.2.1", [], "invalid_input"),
            ("https://user@192.0.2.1", [], "invalid_input"),
            ("https://192.0.2.1:99999", [], "invalid_input"),
            ("https://192.0.2.1", ["--pin", "sha256:12"], "invalid_input"),
            ("https://192.0.2.1", ["--pin", "md5:" + "0" * 64], "invalid_input"),
            ("https://192.0.2.1", ["--name", "a/../b"], "invalid_input"),
            ("https://127.0.0.1:9", [], "unavailable"),
        ],
    )
    def test_arguments_that_cannot_be_right(
        self, tmp_path: Path, url: str, options: list[str], code: str
    ) -> None:
        token = f"ipj_{'0' * 16}_{'x' * 43}"
        line = ["agent", "join", url, "--token", token, "--home", str(tmp_path), "--json"]
        tmp_path.chmod(0o700)
        done = ipulse_here(*line, *options)
        assert error(done) == code
        assert (done.returncode == 2) is (code == "invalid_input")

    @pytest.mark.parametrize("devices", ["cpu,quantum", "", ","])
    def test_devices_that_are_none_use_nothing(
        self, stack: Stack, client: Connection, tmp_path: Path, devices: str
    ) -> None:
        line = join_line(stack)
        done = ipulse_here(*line, "--home", str(tmp_path), "--devices", devices)
        assert done.returncode == 2
        assert not SECRET.search(done.stdout + done.stderr)
        assert line[line.index("--token") + 1].split("_")[1] in [
            token.id for token in client.join_tokens()
        ]

    def test_a_token_that_is_none(self, tmp_path: Path) -> None:
        tmp_path.chmod(0o700)
        line = ["agent", "join", "https://127.0.0.1:9", "--token", "secret"]
        assert error(ipulse_here(*line, "--home", str(tmp_path), "--json")) == "invalid_input"

    @pytest.mark.parametrize("labels", ["site", "a=b,a=c", "A=b", "a=b c"])
    def test_labels_that_are_none(self, stack: Stack, labels: str) -> None:
        options = ["--labels", labels, "--home", str(stack.home), "--json"]
        assert error(ipulse_here("agent", "token", *options)) == "invalid_input"
