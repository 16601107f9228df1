"""report.html: one self-contained page about a training, which makes no request.

The page contains text from users (names, metadata). Templates escape all text, and the page's
content security policy allows nothing except its own style sheet and its own script, by digest.
Without scripts the page is complete; the script makes its curves interactive.
"""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import Any, Dict, Match, Tuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ipulse_core.limits import escape_deceptive
from ipulse_worker.runner.report.quantities import count, duration, listed, percent, size


def contained(title: str, body: str) -> str:
    """Return a page with style sheet, script and a policy that allows only these two."""
    body, places = _styles_as_rules(body)
    style = "\n".join([_asset("uplot.css"), _asset("style.css"), places])
    script = "\n".join([_asset("uplot.js"), _asset("report.js")])
    policy = (
        f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return render(
        "page.html",
        title=title,
        policy=policy,
        style=Markup(style),  # noqa: S704 - files of this package
        script=Markup(script),  # noqa: S704 - files of this package
        body=Markup(body),  # noqa: S704 - rendered with escaped texts
    )


def _styles_as_rules(body: str) -> Tuple[str, str]:
    """Turn style attributes, which the policy forbids, into rules of a style sheet.

    Text from users cannot contain the pattern: its quotes are escaped.
    """
    rules: Dict[str, int] = {}

    def number(match: Match[str]) -> str:
        return f' data-s="{rules.setdefault(match.group(1), len(rules))}"'

    body = re.sub(r' style="([^"]*)"', number, body)
    return body, "\n".join(f'#report [data-s="{at}"]{{{rule}}}' for rule, at in rules.items())


def _asset(name: str) -> str:
    path = Path(__file__).parent / "templates" / name
    return path.read_text("utf-8").strip().replace("\r\n", "\n")


def _digest(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
    return f"'sha256-{digest}'"


def render(template: str, **values: Any) -> str:
    """Render one of the templates of this package."""
    environment = Environment(
        loader=PackageLoader(__package__ or ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = (count, duration, listed, percent, size)
    environment.filters.update({function.__name__: function for function in filters})
    return escape_deceptive(environment.get_template(template).render(**values))
