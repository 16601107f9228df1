"""The list of jobs, its pages and its filters."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ipulse.stack.redis_server import RedisServer
from tests.service.agents import METRIC
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import SPEC, InProcess, settings_for

pytestmark = pytest.mark.postgresql


@pytest.fixture(scope="module")
def crowded(
    redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[InProcess]:
    """A service with seven jobs, the third of which is cancelled."""
    home: Path = tmp_path_factory.mktemp("crowded")
    with InProcess(settings_for(home, redis_server.url)) as running:
        jobs = [running.submit({**SPEC, "name": f"job {n}"}) for n in range(7)]
        running.user.post(f"/v1/jobs/{jobs[2]['id']}/cancel")
        yield running


class TestList:
    def names(self, service: InProcess, **query: str | int) -> list[str]:
        listed = []
        token = ""
        while True:
            page = service.user.get("/v1/jobs", params={**query, "page_token": token}).json()
            listed += [job["name"] for job in page["jobs"]]
            token = page["next_page_token"]
            if not token:
                return listed

    @pytest.mark.parametrize("size", [1, 2, 6, 7, 8, 0, 10**9])
    def test_pages_of_any_size_hold_each_job_once_newest_first(
        self, crowded: InProcess, size: int
    ) -> None:
        assert self.names(crowded, page_size=size) == [f"job {n}" for n in reversed(range(7))]

    def test_a_page_is_as_long_as_asked_for(self, crowded: InProcess) -> None:
        page = crowded.user.get("/v1/jobs", params={"page_size": 3}).json()
        assert len(page["jobs"]) == 3
        assert "spec" not in page["jobs"][0]

    def test_a_job_is_shown_as_a_look_at_it_shows_it(self, service: InProcess) -> None:
        def check() -> None:
            [shown, *_] = service.user.get("/v1/jobs", params={"page_size": 1}).json()["jobs"]
            assert shown.pop("values") is None, "no columns were asked for"
            assert shown.pop("waiting_on") is None, "it was not asked for"
            whole = service.job(shown["id"])
            names = ("cycles_band", "notes", "spec", "waiting_on")
            only_alone = {name: whole[name] for name in names}
            assert whole == {**shown, **only_alone}
            assert list(whole)[: len(shown)] == list(shown)

        job_id = service.submit({**SPEC, "name": "caf\u00e9 \U0001f9e0", "metadata": {"a": '"'}})[
            "id"
        ]
        check()
        attempt = service.attempt(job_id)
        check()
        attempt.report(METRIC)
        check()
        attempt.finish("runner_lost")
        check()
        service.attempt(job_id).complete()
        check()

    def test_a_state_filters_every_page(self, crowded: InProcess) -> None:
        assert self.names(crowded, page_size=2, state="cancelled") == ["job 2"]
        assert len(self.names(crowded, page_size=2, state="queued")) == 6

    def test_jobs_that_arrive_in_between_do_not_disturb_the_pages(
        self, redis_server: RedisServer, tmp_path: Path
    ) -> None:
        with InProcess(settings_for(tmp_path / "home", redis_server.url)) as service:
            old = [service.submit()["id"] for _ in range(4)]
            first = service.user.get("/v1/jobs", params={"page_size": 2}).json()
            service.submit()
            query = {"page_size": 2, "page_token": first["next_page_token"]}
            second = service.user.get("/v1/jobs", params=query).json()
            shown = [job["id"] for job in first["jobs"] + second["jobs"]]
            assert shown == list(reversed(old))

    @pytest.mark.parametrize(
        ("query", "pointer"),
        [
            ("page_size=-1", "/query/page_size"),
            ("page_size=abc", "/query/page_size"),
            ("page_size=1e9", "/query/page_size"),
            ("page_size=1.5", "/query/page_size"),
            ("page_size=" + "9" * 5000, "/query/page_size"),
            ("page_token=abc", "/query/page_token"),
            ("page_token=" + "A" * 54, "/query/page_token"),
            ("page_token=" + "A" * 5000, "/query/page_token"),
            ("state=asleep", "/query/state/0"),
            ("pagesize=3", "/query/pagesize"),
        ],
    )
    def test_a_wrong_parameter_is_named(self, service: InProcess, query: str, pointer: str) -> None:
        problem = check_problem(service.user.get(f"/v1/jobs?{query}"), 400)
        assert problem["code"] == "invalid_parameter"
        assert [error["pointer"] for error in problem["errors"]] == [pointer]

    def test_a_token_is_refused_with_other_filters(self, crowded: InProcess) -> None:
        token = crowded.user.get("/v1/jobs", params={"page_size": 1}).json()["next_page_token"]
        query = {"page_token": token, "state": "queued"}
        check_problem(crowded.user.get("/v1/jobs", params=query), 400)
