"""The capability table over HTTP."""

from __future__ import annotations

from tests.service.http.routes.test_submission import check_problem
from tests.service.running import InProcess


def test_what_runs_where_can_be_asked_for_a_feature_and_a_device(service: InProcess) -> None:
    query = {"feature": "dropout", "device": "ipu"}
    answer = service.user.get("/v1/capabilities", params=query).json()
    assert {(cell["feature"], cell["device"]) for cell in answer["cells"]} == {("dropout", "ipu")}
    verdicts = {cell["kind"]: cell["verdict"] for cell in answer["cells"]}
    assert set(verdicts) == {kind["name"] for kind in answer["kinds"]}
    assert verdicts["dense"] == "not written"
    assert "dropout" in {feature["name"] for feature in answer["features"]}


def test_an_unknown_name_is_refused(service: InProcess) -> None:
    for name in ("feature", "kind", "device"):
        answer = service.user.get("/v1/capabilities", params={name: "dropuot"})
        (error,) = check_problem(answer, 400)["errors"]
        assert error["pointer"] == f"/query/{name}"
