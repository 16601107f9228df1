"""docs/api.md says what the routes say."""

from __future__ import annotations

from pathlib import Path

from ipulse_service.documentation import api_page, document

PAGE = Path(__file__).resolve().parents[2] / "docs" / "api.md"


def test_the_page_is_what_the_code_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == api_page(), "run `make docs`"


def test_every_operation_has_a_place_and_says_what_it_does() -> None:
    page = api_page()
    operations = [(method, path) for path, item in document()["paths"].items() for method in item]
    assert len(operations) > 20
    for method, path in operations:
        assert f"\n## {method.upper()} {path}\n\n" in page
    assert "||" not in page.replace("| |", "")
