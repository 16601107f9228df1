"""`ipulse open`, and the address that `submit` prints on a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from ipulse.client import Connection
from tests.ipulse.cli.conftest import SPEC, Run, environment
from tests.ipulse.live_service import LiveService


@pytest.fixture
def browser(tmp_path: Path) -> Path:
    """A program that notes the address that it should display."""
    program = tmp_path / "browser"
    program.write_text(f'#!/bin/sh\nprintf %s "$1" > {tmp_path}/opened\n')
    program.chmod(0o755)
    return program


def signed_in(address: str) -> str:
    """Use the code of an address as a browser does, which works once; return where it leads."""
    url = urlsplit(address)
    code = parse_qs(url.fragment)["code"][0]
    headers = {"authorization": f"Bearer {code}"}
    route = f"{url.scheme}://{url.netloc}/v1/sessions"
    assert httpx.post(route, headers=headers).json()["role"] == "owner"
    assert httpx.post(route, headers=headers).status_code == 401
    return parse_qs(url.query)["to"][0]


def ran_with(browser: Path, service: LiveService, *arguments: str) -> tuple[str, str]:
    """Run a command in a process of its own; return its output and the opened address."""
    home = str(service.home)
    done = subprocess.run(
        [sys.executable, "-m", "ipulse", *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env=environment(IPULSE_HOME=home, BROWSER=f"{browser} %s"),
        timeout=120,
        check=True,
    )
    opened = browser.with_name("opened")
    return done.stdout, opened.read_text() if opened.exists() else ""


def test_the_page_of_a_job_is_opened(
    service: LiveService, client: Connection, browser: Path
) -> None:
    job_id = client.submit(SPEC).id
    address = f"{service.url}/jobs/{job_id}"
    shown, opened = ran_with(browser, service, "open", "latest")
    assert shown == f"{address}\n"
    assert signed_in(opened) == f"/jobs/{job_id}"
    assert httpx.get(address).headers["content-type"].startswith("text/html")


def test_without_an_id_the_list_is_opened(service: LiveService, browser: Path) -> None:
    shown, opened = ran_with(browser, service, "open")
    assert shown == f"{service.url}/jobs\n"
    assert signed_in(opened) == "/jobs"


def test_the_address_can_be_printed_only(
    service: LiveService, client: Connection, browser: Path, run: Run
) -> None:
    job_id = client.submit(SPEC).id
    address = f"{service.url}/jobs/{job_id}"
    shown, opened = ran_with(browser, service, "open", job_id, "--print")
    assert (signed_in(shown.strip()), opened) == (f"/jobs/{job_id}", "")
    printed = run("open", job_id, "--json").json
    assert printed["url"] == address
    assert signed_in(printed["sign_in_url"]) == f"/jobs/{job_id}"


def test_a_job_that_does_not_exist_has_no_page(run: Run) -> None:
    for reference in ("job_" + "0" * 24, "job_of_nobody"):
        ran = run("open", reference)
        assert (ran.code, ran.out) == (3, "")


def test_without_a_browser_the_address_is_printed(service: LiveService, tmp_path: Path) -> None:
    env = environment(IPULSE_HOME=str(service.home), PATH=str(tmp_path))
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        env.pop(name, None)
    command = [sys.executable, "-m", "ipulse", "open"]
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=120, check=True)
    assert done.stdout == f"{service.url}/jobs\n"
    assert "browser" in done.stderr


def test_submit_prints_the_address_on_a_terminal(
    service: LiveService, spec_file: Path, client: Connection
) -> None:
    master, slave = os.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "ipulse", "submit", str(spec_file)],
            stdout=subprocess.PIPE,
            stderr=slave,
            text=True,
            env=environment(IPULSE_HOME=str(service.home)),
            timeout=120,
            check=True,
        )
        remarks = os.read(master, 65536).decode()
    finally:
        os.close(slave)
        os.close(master)
    job_id = done.stdout.strip()
    assert client.job(job_id).name == "small"
    assert f"{service.url}/jobs/{job_id}" in remarks
    assert f"watch {job_id[4:12]}" in remarks
