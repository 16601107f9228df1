"""The files of the web page, which need no token, and the content security policy."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from urllib.parse import urljoin

import pytest

from ipulse.spec.document.settings import read_spec
from ipulse_service.http import web
from ipulse_service.http.web import FILES, VIEWS
from ipulse_service.http.web import ROOT as FILES_ROOT
from tests.service.running import InProcess

STATIC = Path(web.__file__).parent / "static"
OWN = sorted(
    path
    for path in STATIC.rglob("*")
    if path.is_file() and not path.name.startswith(("uplot", "icon"))
)
UNVERSIONED = sorted(path for path in FILES if not path.startswith(FILES_ROOT))
LINK = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}


def test_a_file_is_answered_to_anybody_and_once(service: InProcess) -> None:
    with service.client() as nobody:
        for path in UNVERSIONED:
            answer = nobody.get(path)
            assert answer.status_code == 200, path
            if path != "/":  # it names the modules of its view
                assert answer.content == FILES[path].content
            assert answer.headers["x-content-type-options"] == "nosniff"
            again = nobody.get(path, headers={"if-none-match": answer.headers["etag"]})
            assert (again.status_code, again.content) == (304, b"")
            head = nobody.head(path)
            assert (head.status_code, head.content) == (200, b"")
            assert head.headers["content-length"] == str(len(answer.content))


def test_it_may_load_and_ask_nothing_elsewhere(service: InProcess) -> None:
    for path in ("/jobs", *UNVERSIONED):
        policy = service.user.get(path).headers["content-security-policy"]
        rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
        assert rules["default-src"] == rules["frame-ancestors"] == rules["form-action"] == "'none'"
        assert rules["script-src"] == rules["connect-src"] == rules["frame-src"] == "'self'"
        assert rules["img-src"] == "'self' data:"
        # The frame of a report contains its styles, and ReDoc makes its styles with a script.
        has_own_styles = Path(path).stem in ("report", "redoc") and Path(path).suffix in (
            "",
            ".html",
        )
        assert rules["style-src"] == ("'self' 'unsafe-inline'" if has_own_styles else "'self'")
        assert policy.count("unsafe") == has_own_styles


@pytest.mark.parametrize("name", ["x", "..%2fauth.py", "%2e%2e", "index.html%00", "INDEX.HTML"])
def test_there_are_no_other_files(service: InProcess, name: str) -> None:
    assert service.user.get(f"/web/{name}").status_code == 404
    with service.client() as nobody:
        assert nobody.get(f"/web/{name}").status_code == 401


def test_a_link_elsewhere_may_lead_to_the_page_alone(service: InProcess) -> None:
    assert service.user.get("/", headers=LINK).status_code == 200
    assert service.user.get("/v1/jobs", headers=LINK).status_code == 400
    embedded = {**LINK, "sec-fetch-mode": "no-cors", "sec-fetch-dest": "script"}
    assert service.user.get("/web/icon.svg", headers=embedded).status_code == 400


def test_texts_are_never_taken_for_html() -> None:
    for path in OWN:
        text = path.read_text("utf-8")
        html = re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text)
        assert not html, path
        assert not re.search(r"unsafeHTML|<script>|\son\w+=\"|\sstyle=\"", text), path


def test_what_the_files_name_is_there() -> None:
    named = set()
    for path in OWN:
        text = path.read_text("utf-8").replace("{{up}}", "").replace("{{root}}", FILES_ROOT[1:])
        named |= {f"/{link}" for link in re.findall(r'(?:href|src)="/?(web/[^"#]+)"', text)}
        folder = f"{FILES_ROOT}/static/{path.parent.relative_to(STATIC).as_posix()}"
        for name in re.findall(r'(?:from |import |import\()"(\.[^"]+)"', text):
            named.add(posixpath.normpath(f"{folder}/{name}"))
    assert len(named) > 10
    assert named <= set(FILES)


def test_a_browser_keeps_the_files_of_one_version(service: InProcess) -> None:
    with service.client() as nobody:
        page = nobody.get("/jobs")
        assert page.headers["cache-control"] == "no-cache"
        scripts = re.findall(r'src="([^"]+)"', page.text)
        assert scripts
        for script in (urljoin("/jobs", script) for script in scripts):
            answer = nobody.get(script)
            assert "immutable" in answer.headers["cache-control"]
            assert answer.content == FILES[script].content
        assert (
            nobody.get(f"/{scripts[0]}".replace(FILES_ROOT, "/web/0123456789abcdef")).status_code
            == 401
        )


def test_every_view_has_an_address_for_anybody(service: InProcess) -> None:
    with service.client() as nobody:
        for view in VIEWS:
            path = re.sub(r"\{\w+\}", "x", view)
            assert nobody.get(path).text.count("<ip-shell>") == 1
            assert nobody.get(path, headers=LINK).status_code == 200
            assert nobody.post(path).status_code == 405
            assert nobody.get(f"{path}/a/b/c").status_code == 401


def test_the_service_has_the_addresses_of_the_page() -> None:
    """Without them a reload of a view would be refused."""
    routes = (STATIC / "app/routes.js").read_text("utf-8")
    patterns = set(re.findall(r'pattern: "(/\w[^"]*)"', routes))
    assert len(patterns) > 5
    without = {re.sub(r"/:\w+\?$", "", pattern) for pattern in patterns}
    whole = {pattern.removesuffix("?") for pattern in patterns}
    addresses = {re.sub(r":(\w+)", "{}", pattern) for pattern in without | whole}
    assert addresses == {re.sub(r"\{\w+\}", "{}", view) for view in VIEWS}


def test_the_examples_of_the_page_are_valid(tmp_path: Path) -> None:
    script = (STATIC / "views/new/examples.js").read_text("utf-8")
    texts = re.findall(r"text: `([^`]+)`", script)
    assert len(texts) == script.count('title: "')
    for number, text in enumerate(texts):
        file = tmp_path / f"{number}.yaml"
        file.write_text(text, "utf-8")
        read_spec(file)


def test_a_browser_at_an_unknown_address_gets_the_page_and_a_program_the_problem(
    service: InProcess,
) -> None:
    of_browser = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
    with service.client() as nobody:
        for path in ("/nonsense", "/jobs/a/b/c", "/datasets/a/b/c?x=1"):
            for headers in (of_browser, {**of_browser, **LINK}):
                answer = nobody.get(path, headers=headers)
                assert (answer.status_code, answer.text.count("<ip-shell>")) == (404, 1), path
                [script] = re.findall(r'src="([^"]+main.js)"', answer.text)
                assert urljoin(path, script) in FILES
                assert answer.headers["content-security-policy"]
            assert nobody.get(path).status_code == 401
            assert service.user.get(path).json()["code"] == "not_found"
        unknown = service.user.get("/jobs%0A")  # Starlette's routes ignore the line break
        assert "/app/gone.js" in unknown.text
        moved = nobody.get("/jobs/?q=state:failed", headers=of_browser)
        assert (moved.status_code, moved.headers["location"]) == (308, "../jobs?q=state:failed")
        # Addresses with a route, and those of the API, have their own answers.
        for path in ("/v1/jobs", "/v1/nonsense", "/web/nonsense", "/metrics"):
            answer = nobody.get(path, headers=of_browser)
            assert (answer.status_code, answer.headers["content-type"]) == (
                401,
                "application/problem+json",
            ), path
        assert nobody.post("/nonsense", headers=of_browser).status_code == 401


@pytest.mark.parametrize("path", ["/", "/jobs/latest/log", "/compare?q=x", "/datasets/a/2"])
def test_a_view_names_the_modules_that_it_loads(service: InProcess, path: str) -> None:
    with service.client() as client:
        text = client.get(path).text
        links = re.findall(r'<link rel="modulepreload" href="([^"]+)">', text)
        named = [urljoin(path, link) for link in links]
        assert len(named) == len(set(named)) > 20
        modules = {name: client.get(name).raise_for_status().text for name in named}
    needed = {
        urljoin(name, other)
        for name, module in modules.items()
        for other in re.findall(r'^import [^;]*?"(\.[^"]+)";$', module, flags=re.MULTILINE)
    }
    assert needed <= modules.keys(), "each is asked for at once"
    shown = {
        "/": "jobs/jobs",
        "/compare?q=x": "compare/compare",
        "/datasets/a/2": "datasets/dataset",
    }
    view = shown.get(path, "job/log")
    assert any(name.endswith(f"/views/{view}.js") for name in modules)
