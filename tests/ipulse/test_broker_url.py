"""A broker is reached privately, or over TLS with a certificate that is verified."""

from __future__ import annotations

import pytest

from ipulse.broker_url import broker_problem


@pytest.mark.parametrize(
    "url",
    [
        "redis://127.0.0.1:6379/0",
        "redis+socket:///run/redis.sock",
        "rediss://ipulse:secret@broker:6380/0?ssl_cert_reqs=required",
        "rediss://broker/0?ssl_ca_certs=/etc/ca.pem&ssl_cert_reqs=CERT_REQUIRED",
    ],
)
def test_these_may_be_used(url: str) -> None:
    assert broker_problem(url) is None


@pytest.mark.parametrize(
    "url",
    [
        "amqp://user:secret@broker/",
        "rediss://ipulse:secret@broker:6380/0",
        "rediss://ipulse:secret@broker:6380/0?ssl_ca_certs=/etc/ca.pem",
        "rediss://ipulse:secret@broker:6380/0?ssl_cert_reqs=none",
        "rediss://ipulse:secret@broker:6380/0?ssl_cert_reqs=CERT_NONE",
        "rediss://ipulse:secret@broker:6380/0?ssl_cert_reqs=optional",
        "rediss://ipulse:secret@broker:6380/0?ssl_cert_reqs=required&ssl_cert_reqs=none",
        "rediss://ipulse:secret@[broker/0?ssl_cert_reqs=required",
        "",
    ],
)
def test_these_are_refused_without_showing_them(url: str) -> None:
    problem = broker_problem(url)
    assert problem
    assert "secret" not in problem
