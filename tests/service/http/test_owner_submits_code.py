"""The owner's token submits code where the stack that started the service says so."""

from __future__ import annotations

from pathlib import Path

from ipulse.stack.redis_server import RedisServer
from tests.service import pushed_ops
from tests.service.running import InProcess, settings_for


def test_the_owner_submits_code_where_the_stack_allows_it(
    tmp_path: Path, redis_server: RedisServer
) -> None:
    settings = settings_for(tmp_path / "home", redis_server.url, owner_submits_code=True)
    with InProcess(settings) as service:
        assert service.user.get("/v1/me").json()["submit_code"] is True
        content = pushed_ops.package()
        assert pushed_ops.pushed(service.user, content).status_code == 204
        code = service.user.post("/v1/sign-in-codes").json()["code"]
        with service.client() as browser:
            headers = {"authorization": f"Bearer {code}"}
            session = browser.post("/v1/sessions", headers=headers).json()
            assert session["submit_code"] is True
