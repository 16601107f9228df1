"""validate and submit: from a file to a job, or to its problems and their lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ipulse.client import Connection
from tests.ipulse.cli.conftest import SPEC, Run
from tests.ipulse.client.samples import job
from tests.ipulse.scripted_server import ScriptedServer, json_answer


class TestValidate:
    def test_a_valid_spec(self, offline: Run, spec_file: Path) -> None:
        ran = offline("validate", str(spec_file))
        assert (ran.code, ran.err) == (0, "")
        assert "is valid" in ran.out
        assert "64 - 8 - 10" in ran.out

    def test_weights_include_those_of_recurrence(self, offline: Run, spec_file: Path) -> None:
        setting = "network.layers[0].recurrent=true"
        facts = offline("validate", str(spec_file), "--set", setting).out.splitlines()
        [weights] = [line.split()[1] for line in facts if line.startswith("weights")]
        assert int(weights) == 64 * 8 + 8 * 8 + 8 * 10

    def test_json_equals_the_response_of_the_service(self, run: Run, client: Connection) -> None:
        ran = run("validate", "-", "--json", stdin=json.dumps(SPEC))
        valid = client.validate(SPEC)
        assert ran.code == 0
        targets = ["generic", "norse", "snntorch", "spikingjelly"]
        digests = {"spec_sha256": valid.sha256, "fit": None, "nir_targets": targets}
        whole = {"valid": True, "spec": valid.spec, **digests}
        assert ran.json == whole

    def test_the_prediction_equals_that_of_the_service(self, run: Run, client: Connection) -> None:
        spec = {**SPEC, "device": {"kind": "emulator", "tiles": 8}}
        ran = run("validate", "-", "--json", stdin=json.dumps(spec))
        assert ran.json["fit"]["tiles"] == 8
        assert ran.json["fit"] == client.plan(spec).json["fit"]

    def test_problems_come_with_file_and_line(self, offline: Run, tmp_path: Path) -> None:
        file = tmp_path / "bad.yaml"
        file.write_text("version: 1\nseed: -1\nnetwork:\n  layers:\n    - {neurons: 0}\n")
        ran = offline("validate", str(file))
        assert ran.code == 2
        assert ran.out == ""
        assert f"{file}:2: /seed: -1 is below the minimum of 0" in ran.err
        assert f"{file}:5: /network/layers/0/neurons: 0 is below the minimum of 1" in ran.err

    def test_problems_as_json(self, offline: Run) -> None:
        ran = offline("validate", "-", "--json", stdin="version: 1\nnetwork: {layers: []}\n")
        assert ran.code == 2
        error = ran.json["error"]
        assert error["code"] == "invalid_spec"
        (problem,) = error["problems"]
        assert (problem["pointer"], problem["line"]) == ("/network/layers", 2)

    def test_a_syntax_error_has_its_line(self, offline: Run) -> None:
        ran = offline("validate", "-", stdin="version: 1\nnetwork: [1, 2\n")
        assert ran.code == 2
        assert "(standard input):3:1: " in ran.err

    def test_a_file_that_is_not_there(self, offline: Run) -> None:
        ran = offline("validate", "none.yaml")
        assert ran.code == 2
        assert "none.yaml: No such file" in ran.err

    def test_a_folder(self, offline: Run, tmp_path: Path) -> None:
        assert offline("validate", str(tmp_path)).code == 2


class TestSubmit:
    def test_a_spec_is_sent_as_it_was_written(self, offline: Run, tmp_path: Path) -> None:
        """Defaults are those of the service, which may have another version."""
        file, token = tmp_path / "spec.yaml", tmp_path / "token"
        file.write_text("version: 1\nnetwork: {layers: [{neurons: 8}]}\n")
        token.write_text("t")
        accepted = json_answer({"jobs": [{"pointer": "/jobs/0", "job": job()}]}, 202)
        with ScriptedServer(lambda _: accepted) as server:
            at = ["--url", server.url, "--token-file", str(token)]
            ran = offline("submit", str(file), "--set", "seed=3", "--key", "mine", *at)
            assert ran.code == 0, ran.err
            (request,) = server.requests
        [sent] = json.loads(request.body)["jobs"]
        assert sent["spec"] == {"version": 1, "network": {"layers": [{"neurons": 8}]}, "seed": 3}

    def test_the_id_is_all_that_is_printed(
        self, run: Run, client: Connection, spec_file: Path
    ) -> None:
        ran = run("submit", str(spec_file))
        assert (ran.code, ran.err) == (0, "")
        assert client.job(ran.out.strip()).name == "small"

    def test_json_is_the_job(self, run: Run, spec_file: Path) -> None:
        ran = run("submit", "-", "--json", stdin=spec_file.read_text())
        assert (ran.code, ran.json["state"]) == (0, "queued")

    def test_the_same_key_is_the_same_job(self, run: Run, spec_file: Path) -> None:
        ids = {run("submit", str(spec_file), "--key", "cli-once").out for _ in range(2)}
        assert len(ids) == 1

    @pytest.mark.parametrize("key", ["", "zw\u00f6lf", "two words", "x" * 256])
    def test_what_is_no_key_starts_no_job(self, run: Run, spec_file: Path, key: str) -> None:
        ran = run("submit", str(spec_file), "--key", key)
        assert (ran.code, ran.out) == (2, "")
        assert "must have 1 to 255 printable ASCII characters without spaces" in ran.err

    def test_an_invalid_spec_is_not_sent(self, offline: Run, tmp_path: Path) -> None:
        ran = offline("submit", "-", stdin="{}", IPULSE_HOME=str(tmp_path))
        assert ran.code == 2  # and not 5: nobody asked for the service

    def test_several_files_are_several_jobs(
        self, run: Run, client: Connection, spec_file: Path, tmp_path: Path
    ) -> None:
        other = tmp_path / "other.yaml"
        other.write_text(spec_file.read_text().replace("small", "other"))
        ran = run("submit", str(spec_file), str(other), "--tag", "pair", "--json")
        assert ran.code == 0
        names = [client.job(job["id"]).name for job in ran.json["jobs"]]
        assert names == ["small", "other"]

    def test_a_problem_of_one_file_names_it_and_nothing_is_submitted(
        self, run: Run, client: Connection, spec_file: Path, tmp_path: Path
    ) -> None:
        bad, worse = tmp_path / "bad.yaml", tmp_path / "worse.yaml"
        bad.write_text("version: 1\nseed: -1\nnetwork: {layers: [{neurons: 4}]}\n")
        worse.write_text(
            "version: 1\nnetwork: {layers: [{neurons: 4}]}\ndata: {kind: npz, dataset: none}\n"
        )
        ran = run("submit", str(spec_file), str(bad), "--tag", "never")
        assert (ran.code, ran.out) == (2, "")
        assert f"{bad}:2: /seed: " in ran.err
        ran = run("submit", str(spec_file), str(worse), "--tag", "never")
        assert (ran.code, ran.out) == (2, "")
        assert f"{worse}:3: /data/dataset: " in ran.err  # only the service knows
        assert client.jobs("tag:never").count() == 0

    def test_a_wrong_option_is_named_once_and_no_line_of_a_file(
        self, run: Run, spec_file: Path, tmp_path: Path
    ) -> None:
        other = tmp_path / "other.yaml"
        other.write_text(spec_file.read_text().replace("small", "other"))
        for files in ([str(spec_file)], [str(spec_file), str(other)]):
            ran = run("submit", *files, "--tag", "Not A Tag")
            assert (ran.code, ran.out) == (2, "")
            assert ran.err.count("--tag: ") == 1
            assert not any(file in ran.err for file in files)

    def test_the_text_is_kept_with_its_comments_and_settings(
        self, run: Run, tmp_path: Path
    ) -> None:
        file = tmp_path / "commented.yaml"
        file.write_text("version: 1  # mine\nnetwork: {layers: [{neurons: 4}]}\n")
        job = run("submit", str(file), "--set", "seed=7").out.strip()
        kept = run("spec", job, "--submitted")
        assert (kept.code, kept.out) == (0, f"# --set seed=7\n{file.read_text()}")
        again = tmp_path / "again.yaml"
        again.write_text(run("spec", job).out)
        clone = run("submit", str(again), "--json")
        assert clone.json["spec"] == run("spec", job, "--json").json

    def test_the_text_of_a_clone_and_of_no_job(self, run: Run, spec_file: Path) -> None:
        job = run("submit", str(spec_file)).out.strip()
        copy = run("clone", job).out.strip()
        assert run("spec", copy, "--submitted").code == 0  # of the client's own JSON
        assert run("spec", "job_" + "0" * 24, "--submitted").code == 3
