"""Versions of data sets: facts, samples, content, refusals and deletion."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from tests.core.data_files.csv_files import ACCEPTED, LABELS_FROM_ONE
from tests.service.datasets.files import hdf5, n_mnist, npz, spikes
from tests.service.datasets.uploading import announce, check_refused, push, upload
from tests.service.running import InProcess


class TestFacts:
    def test_of_spikes(self, service: InProcess) -> None:
        version = push(service, spikes(samples=40, steps=10, channels=6))
        assert version["state"] == "ready"
        assert version["kind"] == "npz"
        facts = version["facts"]
        assert (facts["samples"], facts["steps"], facts["channels"]) == (40, 10, 6)
        assert facts["classes"] == 2
        assert [each["samples"] for each in facts["label_counts"]] == [20, 20]
        sample = version["previews"][1]
        place = f"/v1/datasets/{version['dataset']}/versions/1/samples/{sample}"
        shown = service.user.get(place).json()
        assert shown["events"] == len(shown["times"]) == len(shown["event_channels"]) > 0
        # The upper half of the channels belongs to the odd samples.
        assert all((channel >= 3) is (sample % 2 == 1) for channel in shown["event_channels"])
        check_refused(service.user.get(place[: -len(str(sample))] + "99999"), 404, "not_found")

    def test_of_lists_of_spikes(self, service: InProcess, tmp_path: Path) -> None:
        version = push(service, hdf5(tmp_path / "mine.h5", samples=30, channels=8))
        assert (version["kind"], version["facts"]["format"]) == ("events", "hdf5")
        facts = version["facts"]
        assert (facts["samples"], facts["channels"], facts["events"]) == (30, 8, 600)
        assert 0 <= facts["first_ms"] < facts["last_ms"] <= 50

    def test_of_a_table(self, service: InProcess) -> None:
        rows = [f"{row % 4},{row * 2.5},{row % 3},{row % 2}" for row in range(40)]
        text = "\n".join(["sample,time_ms,channel,label", *rows])
        version = push(service, text.encode())
        assert (version["kind"], version["facts"]["format"]) == ("events", "csv")
        assert version["facts"]["last_ms"] == 97.5

    def test_warn_of_labels_and_channels_that_nothing_has(self, service: InProcess) -> None:
        facts = push(service, LABELS_FROM_ONE)["facts"]
        assert (facts["classes"], facts["channels"]) == (3, 13)
        assert ["label 0 and channel 0 have no event" in each for each in facts["warnings"]] == [
            True
        ]

    def test_of_a_table_of_a_spreadsheet(self, service: InProcess) -> None:
        facts = [push(service, ACCEPTED[name])["facts"] for name in ("plain", "utf16_tab")]
        assert facts[0] == facts[1]

    def test_of_an_archive(self, service: InProcess) -> None:
        version = push(service, n_mnist())
        assert version["kind"] == "n_mnist", version["refusal"]
        assert (version["facts"]["samples"], version["facts"]["test_samples"]) == (40, 20)

    def test_of_values(self, service: InProcess) -> None:
        values = [[[0.0, 0.5], [1.0, 0.25]]] * 4
        version = push(service, npz(values=values, labels=[0, 1, 0, 1]))
        assert version["facts"]["form"] == "values"
        place = f"/v1/datasets/{version['dataset']}/versions/1/samples/0"
        shown = service.user.get(place).json()
        assert (shown["values"], shown["shape"]) == ([0.0, 0.5, 1.0, 0.25], [2, 2])


class TestNumbers:
    def test_the_same_content_is_one_version(self, service: InProcess) -> None:
        content = spikes(seed=secrets.randbelow(2**31))
        first = push(service, content)
        assert push(service, content, first["dataset"])["version"] == 1
        other = push(service, spikes(seed=7), first["dataset"])
        assert other["reference"] == f"{first['dataset']}@2"
        whole = service.user.get(f"/v1/datasets/{first['dataset']}").json()
        assert [version["version"] for version in whole["versions"]] == [2, 1]

    def test_are_not_used_again(self, service: InProcess) -> None:
        first = push(service, spikes(seed=secrets.randbelow(2**31)))
        name = first["dataset"]
        assert service.user.delete(f"/v1/datasets/{name}/versions/1").status_code == 204
        content = f"/v1/datasets/{name}/versions/1/content"
        check_refused(service.user.get(content), 404, "not_found")
        listed = service.user.get("/v1/datasets", params={"limit": 500}).json()["datasets"]
        assert name not in [each["name"] for each in listed]
        assert push(service, spikes(seed=secrets.randbelow(2**31)), name)["version"] == 2

    def test_pages_of_the_list(self, service: InProcess) -> None:
        names = [push(service, spikes(seed=number))["dataset"] for number in range(3)]
        found: list[str] = []
        token = ""
        while len(found) < 3:
            query = {"limit": 2, **({"page_token": token} if token else {})}
            page = service.user.get("/v1/datasets", params=query).json()
            found += [each["name"] for each in page["datasets"]]
            token = page["next_page_token"]
        assert found[:3] == names[::-1]
        bad = service.user.get("/v1/datasets", params={"page_token": "x"})
        check_refused(bad, 400, "invalid_parameter")


class TestContent:
    def test_is_what_was_uploaded(self, service: InProcess) -> None:
        content = spikes(seed=secrets.randbelow(2**31))
        place = f"/v1/datasets/{push(service, content)['dataset']}/versions/latest/content"
        assert service.user.get(place).content == content
        part = service.user.get(place, headers={"range": "bytes=10-19"})
        assert (part.status_code, part.content) == (206, content[10:20])

    def test_is_gone_with_the_last_version(self, service: InProcess) -> None:
        content = spikes(seed=secrets.randbelow(2**31))
        one, other = push(service, content), push(service, content)
        blobs = service.settings.artifacts_dir / "sha256" / one["sha256"][:2]
        assert service.user.delete(f"/v1/datasets/{one['dataset']}").status_code == 204
        assert (blobs / one["sha256"]).exists()
        assert service.user.delete(f"/v1/datasets/{other['dataset']}").status_code == 204
        assert not (blobs / one["sha256"]).exists()


class TestRefusals:
    def test_names(self, service: InProcess) -> None:
        body = {"upload_id": upload(service, spikes())}
        for name in ("%2e%2e", "..%2fx", "a%00b", ".hidden", "a@b", "x" * 129, "%F0%9F%98%80"):
            response = service.user.post(f"/v1/datasets/{name}/versions", json=body)
            assert response.status_code in (400, 404), name

    def test_incomplete_and_unknown_uploads(self, service: InProcess) -> None:
        upload_id = announce(service, secrets.token_bytes(50)).json()["id"]
        place = "/v1/datasets/incomplete/versions"
        response = service.user.post(place, json={"upload_id": upload_id})
        check_refused(response, 409, "upload_incomplete")
        response = service.user.post(place, json={"upload_id": "upl_x"})
        check_refused(response, 404, "not_found")
        check_refused(service.user.get("/v1/datasets/incomplete"), 404, "not_found")

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (b"\x93NUMPY of nothing", "none of these"),
            (b"PK\x03\x04" + bytes(300), "none of these"),
            (spikes()[:-200], "none of these|damaged|whole"),
            (npz(spikes=[[[0, 1.5]]] * 3, labels=[0, 1, 0]), "whole numbers"),
            (npz(spikes=[[[0, 1]]] * 3, labels=[0, -1, 0]), "label -1"),
            (npz(spikes=[[[0, 0]]] * 3, labels=[0, 1, 0]), "nothing to learn"),
            (b"sample,time_ms,channel,label\n0,1,2,3\n1,x,2,3\n", "line 3"),
            (b"a;b\n1;2\n", "'a;b' (separator: semicolon)"),
        ],
        ids=["npy", "zip", "truncated", "fractions", "label", "silent", "csv", "head"],
    )
    def test_of_files(self, service: InProcess, content: bytes, words: str) -> None:
        version = push(service, content)
        assert version["state"] == "refused"
        assert any(word in version["refusal"] for word in words.split("|")), version["refusal"]
        assert str(service.settings.home) not in version["refusal"]
        assert version["facts"] is None
        # Another try is another version.
        assert push(service, spikes(), version["dataset"])["version"] == 2
