"""People sign in with a provider, and nobody with what it has not signed for them."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import OctKey
from sqlalchemy import update

from ipulse.stack.redis_server import RedisServer
from ipulse_core.errors import InvalidInput
from ipulse_service.db import tables
from ipulse_service.http.oidc import SIGN_INS_AT_ONCE
from ipulse_service.settings import Settings
from tests.service.http.oidc_provider import CLIENT_ID, SECRET, Provider
from tests.service.people import checked
from tests.service.running import InProcess, settings_for


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider() as provider:
        yield provider


@pytest.fixture(scope="module")
def lab(
    provider: Provider, redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[InProcess]:
    """A service with this provider, to which nobody may sign up."""
    folder = tmp_path_factory.mktemp("lab")
    secret = folder / "client-secret"
    secret.write_text(SECRET + "\n")
    settings = settings_for(
        folder / "home",
        redis_server.url,
        oidc_issuer=provider.issuer,
        oidc_client_id=CLIENT_ID,
        oidc_client_secret_file=secret,
        oidc_group_roles="lab=default:maintainer, lab=vision:member, gone=nowhere:member",
    )
    with InProcess(settings) as running:
        checked(running.user.post("/v1/users", json={"name": "alice"}))
        checked(running.user.patch("/v1/users/alice", json={"subject": "sub-of-alice"}))
        path = "/v1/projects/default/members/alice"
        checked(running.user.put(path, json={"role": "member"}))
        yield running


@pytest.fixture
def browser(lab: InProcess, provider: Provider) -> Iterator[httpx.Client]:
    with lab.client() as client:
        yield client
    provider.claims, provider.is_down, provider.sign = {}, False, provider._sign
    provider.subject = "sub-of-alice"


def sent(browser: httpx.Client, **query: str) -> str:
    """Where the browser is sent to for signing in."""
    answer = browser.get("/v1/auth/login", params=query)
    assert answer.status_code == 303
    return answer.headers["location"]


def back(browser: httpx.Client, address: str) -> str:
    """Where the browser ends that comes back from the provider."""
    answer = browser.get(address)
    assert answer.status_code == 303
    return answer.headers["location"]


def why(location: str) -> str:
    parts = urlsplit(location)
    assert parts.path == "/login", location
    return parse_qs(parts.query)["why"][0]


def test_a_person_signs_in_and_is_who_the_provider_says(
    lab: InProcess, browser: httpx.Client, provider: Provider
) -> None:
    assert browser.get("/v1/auth").json() == {"issuer": provider.issuer}
    address = provider.authorize(sent(browser, to="/jobs?q=mine"))
    assert back(browser, address) == "/jobs?q=mine"
    me = checked(browser.get("/v1/me"))
    assert (me["name"], me["is_admin"], me["roles"]) == ("alice", False, {"default": "member"})
    assert browser.get("/v1/session").json()["name"] == "alice"
    assert why(back(browser, address)) == "state", "the way back works once"
    checked(lab.user.patch("/v1/users/alice", json={"is_disabled": True}))
    assert browser.get("/v1/me").status_code == 401
    assert why(back(browser, provider.authorize(sent(browser)))) == "disabled"
    checked(lab.user.patch("/v1/users/alice", json={"is_disabled": False}))


def test_groups_of_the_provider_give_roles(
    lab: InProcess, browser: httpx.Client, provider: Provider
) -> None:
    def roles(groups: Any) -> Any:
        provider.claims = {"groups": groups}
        assert back(browser, provider.authorize(sent(browser))) == "/jobs"
        return checked(browser.get("/v1/me"))["roles"]

    checked(lab.user.post("/v1/projects", json={"name": "vision"}))
    of_lab = {"default": "maintainer", "vision": "member"}
    assert roles(["lab", "gone", "other"]) == of_lab
    assert roles("lab") == of_lab
    member = "/v1/projects/vision/members/alice"
    listed = checked(lab.user.get("/v1/projects/vision"))["members"]
    assert {"name": "alice", "role": "member", "group_role": "member"} in listed
    assert lab.user.put(member, json={"role": "viewer"}).status_code == 422
    assert lab.user.delete(member).status_code == 404
    # A higher role by hand counts, and stays when the groups are gone.
    checked(lab.user.put(member, json={"role": "developer"}))
    assert checked(browser.get("/v1/me"))["roles"] == {**of_lab, "vision": "developer"}
    for groups in ([], None, [7, {}]):
        assert roles(groups) == {"default": "member", "vision": "developer"}
    checked(lab.user.delete(member))
    # Without a sign-in they expire.
    assert roles(["lab"]) == of_lab
    with lab.database.write() as transaction:
        transaction.connection.execute(update(tables.group_members).values(expires_at=0))
    assert checked(browser.get("/v1/me"))["roles"] == {"default": "member"}


@pytest.mark.parametrize("roles", ["lab", "lab=vision", "=vision:member", "lab=vision:boss"])
def test_a_role_of_a_group_that_is_none_is_refused(tmp_path: Path, roles: str) -> None:
    with pytest.raises(InvalidInput, match="GROUP=PROJECT:ROLE"):
        Settings.from_environment(
            {"IPULSE_HOME": str(tmp_path), "IPULSE_OIDC_GROUP_ROLES": f"a=b:owner,{roles}"}
        )


def test_the_state_belongs_to_the_browser(
    lab: InProcess, browser: httpx.Client, provider: Provider
) -> None:
    address = provider.authorize(sent(browser))
    with lab.client() as other:
        assert why(back(other, address)) == "state"
        sent(other)
        assert why(back(other, address)) == "state"
        assert other.get("/v1/me").status_code == 401


@pytest.mark.parametrize("to", ["https://evil.example", "//evil.example", "/\\evil.example", ""])
def test_nobody_is_sent_to_another_host(browser: httpx.Client, provider: Provider, to: str) -> None:
    assert back(browser, provider.authorize(sent(browser, to=to))) == "/jobs"


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "somebody-else"},
        {"iss": "https://evil.example"},
        {"nonce": "of-another-login"},
        {"nonce": None},
        {"exp": 1},
        {"exp": None},
        {"sub": None},
        {"aud": [CLIENT_ID, "other"], "azp": "other"},
    ],
    ids=lambda claims: "-".join(f"{k}={v}"[:20] for k, v in claims.items()),
)
def test_wrong_claims_are_refused(
    browser: httpx.Client, provider: Provider, claims: dict[str, Any]
) -> None:
    provider.claims = claims
    assert why(back(browser, provider.authorize(sent(browser)))) == "token"
    assert browser.get("/v1/me").status_code == 401


def _part(value: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def _unsigned(provider: Provider) -> Callable[[dict[str, Any]], str]:
    return lambda claims: f"{_part({'alg': 'none'})}.{_part(claims)}."


def _by_public_key(provider: Provider) -> Callable[[dict[str, Any]], str]:
    """HS256 with the public key as the secret."""
    secret = OctKey.import_key(json.dumps(provider.key.as_dict(private=False)))
    header = {"alg": "HS256", "kid": provider.key.kid}
    return lambda claims: jwt.encode(header, claims, secret)


def _by_another_key(provider: Provider) -> Callable[[dict[str, Any]], str]:
    other = provider._new_key()
    header = {"alg": "ES256", "kid": provider.key.kid}
    return lambda claims: jwt.encode(header, claims, other)


def _huge(provider: Provider) -> Callable[[dict[str, Any]], str]:
    return lambda claims: provider._sign({**claims, "more": "x" * 100_000})


@pytest.mark.parametrize("forge", [_unsigned, _by_public_key, _by_another_key, _huge])
def test_forged_tokens_are_refused(
    browser: httpx.Client,
    provider: Provider,
    forge: Callable[[Provider], Callable[[dict[str, Any]], str]],
) -> None:
    provider.sign = forge(provider)
    assert why(back(browser, provider.authorize(sent(browser)))) == "token"


def test_a_clock_that_is_a_little_off_and_a_new_key_are_no_trouble(
    lab: InProcess, browser: httpx.Client, provider: Provider
) -> None:
    provider.rotate()
    lab.state.oidc._keys = None  # a minute later
    assert back(browser, provider.authorize(sent(browser))) == "/jobs"
    reads = provider.key_reads
    provider.rotate()
    assert why(back(browser, provider.authorize(sent(browser)))) == "token"
    assert provider.key_reads == reads, "keys are read at most once a minute"
    lab.state.oidc._keys = None
    assert back(browser, provider.authorize(sent(browser))) == "/jobs"


def test_tokens_work_while_the_provider_is_down(
    lab: InProcess, browser: httpx.Client, provider: Provider
) -> None:
    address = provider.authorize(sent(browser))
    provider.is_down = True
    assert why(back(browser, address)) == "unavailable"
    lab.state.oidc._metadata = None
    assert why(sent(browser)) == "unavailable"
    assert lab.user.get("/v1/jobs").status_code == 200


def test_a_provider_that_hangs_takes_few_threads(
    lab: InProcess, browser: httpx.Client, provider: Provider
) -> None:
    with ExitStack() as closing, ThreadPoolExecutor(SIGN_INS_AT_ONCE) as beside:
        browsers = [closing.enter_context(lab.client()) for _ in range(SIGN_INS_AT_ONCE)]
        addresses = [provider.authorize(sent(each)) for each in browsers]
        own = provider.authorize(sent(browser))
        while provider.waiting.acquire(blocking=False):
            pass
        provider.may_answer.clear()
        try:
            slow = [beside.submit(back, *each) for each in zip(browsers, addresses, strict=True)]
            assert all(provider.waiting.acquire(timeout=60) for _ in slow)
            assert why(back(browser, own)) == "unavailable"
        finally:
            provider.may_answer.set()
        assert [each.result() for each in slow] == ["/jobs"] * len(slow)
    assert back(browser, provider.authorize(sent(browser))) == "/jobs"


def test_who_is_unknown_learns_what_to_tell_the_administrator(
    lab: InProcess, browser: httpx.Client, provider: Provider
) -> None:
    provider.subject = "sub-of-bob"
    provider.claims = {"email": "alice@example.org"}  # is no proof of who one is
    refused = back(browser, provider.authorize(sent(browser)))
    assert why(refused) == "unknown"
    assert "sub-of-bob" in refused
    assert browser.get("/v1/me").status_code == 401


def test_signing_up_needs_the_operator_and_the_domain(
    provider: Provider, redis_server: RedisServer, tmp_path: Path
) -> None:
    (tmp_path / "client-secret").write_text(SECRET)
    settings = settings_for(
        tmp_path / "home",
        redis_server.url,
        oidc_issuer=provider.issuer,
        oidc_client_id=CLIENT_ID,
        oidc_client_secret_file=tmp_path / "client-secret",
        oidc_signup=True,
        oidc_allowed_domains=("example.org",),
    )
    with InProcess(settings) as open_lab, open_lab.client() as browser:
        assert back(browser, provider.authorize(sent(browser))) == "/jobs"
        me = checked(browser.get("/v1/me"))
        assert (me["name"], me["roles"]) == ("alice", {})
        for claims in ({"email": "alice@evil.example"}, {"email_verified": False}):
            provider.claims = claims
            assert why(back(browser, provider.authorize(sent(browser)))) == "domain"
        provider.claims = {}
        listed = checked(open_lab.user.get("/v1/users"))["users"]
        assert [user["name"] for user in listed] == ["alice", "owner"]
