"""Downloads: only what was announced gets its name, and nothing leaves the folder."""

from __future__ import annotations

import re
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ipulse_core.errors import NotFound, RemoteError, Unavailable
from tests.ipulse.scripted_server import (
    Answer,
    Request,
    ScriptedServer,
    json_answer,
    problem_answer,
)

from .conftest import Connect, job_of
from .samples import artifact, artifacts

CONTENT = bytes(range(256)) * 1000


def serve(
    contents: dict[str, bytes], cuts: tuple[int, ...] = (), **changes: Any
) -> Callable[[Request], Answer]:
    """Serve these artifacts; the first responses end after so many bytes."""
    listed = [{**artifact(name, content), **changes} for name, content in contents.items()]
    by_id = {file["id"]: contents[file["name"]] for file in listed if file["name"] in contents}
    waiting = list(cuts)

    def answer(request: Request) -> Answer:
        if not request.path.endswith("/content"):
            return json_answer(artifacts(*listed))
        content = by_id[request.path.split("/")[-2]]
        match = re.fullmatch(r"bytes=(\d+)-", request.headers.get("range", ""))
        start = int(match.group(1)) if match else 0
        headers = {"Content-Type": "application/octet-stream"}
        if match:
            headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        body = content[start:]
        cut = waiting.pop(0) if waiting else len(body)
        return Answer(206 if match else 200, body[:cut], headers, announced=len(body))

    return answer


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_files_arrive_under_their_names(connect: Connect, tmp_path: Path) -> None:
    contents = {"a.bin": CONTENT, "empty": b"", "report.html": b"<html>"}
    with ScriptedServer(serve(contents)) as server:
        paths = job_of(connect(server.url, "t")).download(tmp_path / "new" / "folder")
    assert {path.name: path.read_bytes() for path in paths} == contents
    assert left_in(tmp_path / "new" / "folder") == sorted(contents)


def test_an_interrupted_download_resumes(connect: Connect, tmp_path: Path) -> None:
    with ScriptedServer(serve({"a.bin": CONTENT}, cuts=(100_000, 0, 50_000))) as server:
        (path,) = job_of(connect(server.url, "t")).download(tmp_path)
        asked = [request.headers.get("range") for request in server.requests[1:]]
        conditions = {request.headers.get("if-range") for request in server.requests[2:]}
    assert path.read_bytes() == CONTENT
    assert asked[0] is None
    # Data that were in transit when the connection broke may or may not have arrived.
    starts = [int(text[6:-1]) for text in asked[1:] if text is not None]
    assert len(starts) == 3
    assert starts == sorted(starts)
    assert 0 < starts[0] <= 100_000
    assert conditions == {f'"{artifact("a.bin", CONTENT)["sha256"]}"'}


def test_a_service_without_ranges_begins_again(connect: Connect, tmp_path: Path) -> None:
    whole = serve({"a.bin": CONTENT}, cuts=(100_000,))

    def answer(request: Request) -> Answer:
        request.headers.pop("range", None)
        return whole(request)

    with ScriptedServer(answer) as server:
        (path,) = job_of(connect(server.url, "t")).download(tmp_path)
    assert path.read_bytes() == CONTENT


def test_a_wrong_digest_keeps_nothing(connect: Connect, tmp_path: Path) -> None:
    with ScriptedServer(serve({"a.bin": CONTENT}, sha256="0" * 64)) as server:
        client = connect(server.url, "t")
        with pytest.raises(RemoteError, match=r"a\.bin does not have the announced digest"):
            job_of(client).download(tmp_path)
    assert left_in(tmp_path) == []


def test_more_bytes_than_announced_keep_nothing(connect: Connect, tmp_path: Path) -> None:
    with ScriptedServer(serve({"a.bin": CONTENT}, size=1000)) as server:
        client = connect(server.url, "t")
        with pytest.raises(RemoteError, match="longer than the announced 1000 bytes"):
            job_of(client).download(tmp_path)
    assert left_in(tmp_path) == []


def test_fewer_bytes_than_announced_keep_nothing(connect: Connect, tmp_path: Path) -> None:
    listed = artifacts({**artifact("a.bin", CONTENT), "size": len(CONTENT) + 1})

    def answer(request: Request) -> Answer:
        if not request.path.endswith("/content"):
            return json_answer(listed)
        if "range" in request.headers:
            return problem_answer(416, "range_not_satisfiable", "no such range")
        return Answer(200, CONTENT)

    with ScriptedServer(answer) as server, pytest.raises(RemoteError, match="no such range"):
        job_of(connect(server.url, "t")).download(tmp_path)
    assert left_in(tmp_path) == []


def test_another_range_than_asked_for_keeps_nothing(connect: Connect, tmp_path: Path) -> None:
    right = serve({"a.bin": CONTENT}, cuts=(1000,))

    def answer(request: Request) -> Answer:
        given: Answer = right(request)
        if given.status == 206:
            given.headers["Content-Range"] = f"bytes 5-{len(CONTENT) - 1}/{len(CONTENT)}"
        return given

    with ScriptedServer(answer) as server, pytest.raises(RemoteError, match="another range"):
        job_of(connect(server.url, "t")).download(tmp_path)
    assert left_in(tmp_path) == []


@pytest.mark.parametrize("size", [2_000, 200_000])  # a file's buffer holds the first
def test_a_disk_without_room_is_named_and_keeps_nothing(
    connect: Connect, tmp_path: Path, size: int
) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with ScriptedServer(serve({"a.bin": bytes(size)})) as server:
        client = connect(server.url, "t")
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, limits[1]))
        try:
            with pytest.raises(OSError, match=re.escape(str(tmp_path / "x" / "a.bin"))):
                job_of(client).download(tmp_path / "x")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert left_in(tmp_path / "x") == []


def test_a_connection_that_gives_nothing_is_given_up(connect: Connect, tmp_path: Path) -> None:
    with ScriptedServer(serve({"a.bin": CONTENT}, cuts=(0,) * 50)) as server:
        with pytest.raises(Unavailable):
            job_of(connect(server.url, "t", retries=2)).download(tmp_path)
        assert len(server.requests) == 6
    assert left_in(tmp_path) == []


@pytest.mark.parametrize(
    "name",
    [
        "../a",
        "/etc/passwd",
        "a/b",
        "..",
        ".",
        ".hidden",
        "",
        "a\0b",
        "a\nb",
        "n" * 129,
        "a\\b",
        "\u00e9",
    ],
    ids=repr,
)
def test_a_name_that_leaves_the_folder_is_refused(
    connect: Connect, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "inner"
    with ScriptedServer(serve({"a.bin": CONTENT}, name=name)) as server:
        with pytest.raises(RemoteError, match="not downloaded"):
            job_of(connect(server.url, "t")).download(folder)
        assert len(server.requests) == 1
    assert left_in(tmp_path) == []


def test_an_id_that_leaves_the_path_is_refused(connect: Connect, tmp_path: Path) -> None:
    with ScriptedServer(serve({"a.bin": CONTENT}, id="../../worker")) as server:
        with pytest.raises(NotFound):
            job_of(connect(server.url, "t")).download(tmp_path)
        assert len(server.requests) == 1


def test_two_files_of_one_name_are_refused(connect: Connect, tmp_path: Path) -> None:
    listed = artifacts(artifact("a", b"1"), artifact("a", b"2"))
    with ScriptedServer(lambda _: json_answer(listed)) as server:
        client = connect(server.url, "t")
        with pytest.raises(RemoteError, match="lists a twice"):
            job_of(client).download(tmp_path)


def test_a_link_in_the_folder_is_replaced_and_not_followed(
    connect: Connect, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.bin").symlink_to(victim)
    with ScriptedServer(serve({"a.bin": CONTENT})) as server:
        job_of(connect(server.url, "t")).download(folder)
    assert victim.read_bytes() == b"precious"
    assert (folder / "a.bin").read_bytes() == CONTENT
    assert not (folder / "a.bin").is_symlink()


def test_a_file_that_exists_is_not_downloaded_again(connect: Connect, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(CONTENT)
    (tmp_path / "b.bin").write_bytes(CONTENT[::-1])
    with ScriptedServer(serve({"a.bin": CONTENT, "b.bin": CONTENT})) as server:
        job_of(connect(server.url, "t")).download(tmp_path)
        assert len(server.requests) == 2
    assert (tmp_path / "b.bin").read_bytes() == CONTENT


def test_only_the_roles_asked_for(connect: Connect, tmp_path: Path) -> None:
    listed = artifacts(artifact("w.npz", b"", role="weights"), artifact("r", b"", role="report"))
    with ScriptedServer(lambda _: json_answer(listed)) as server:
        job_of(connect(server.url, "t")).download(tmp_path, roles=["report"])
    assert left_in(tmp_path) == ["r"]


def test_a_file_is_as_readable_as_any_other(connect: Connect, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.touch()
    with ScriptedServer(serve({"a.bin": CONTENT})) as server:
        (path,) = job_of(connect(server.url, "t")).download(tmp_path)
    assert path.stat().st_mode == plain.stat().st_mode
