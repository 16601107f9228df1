"""Problem documents (RFC 9457): the body of every error response."""

from __future__ import annotations

from pydantic import BaseModel, Field

from ipulse_service.http.schemas.base import example


class ProblemDetail(BaseModel):
    """One thing that is wrong with a request, and where."""

    pointer: str = Field(
        description="RFC 6901 pointer into the body, or a parameter such as /query/page_size."
    )
    code: str = Field(description="Stable; programs may rely on it.")
    detail: str
    position: int | None = Field(
        default=None, description="In a search query: the place in its text, in characters from 0."
    )
    length: int | None = Field(default=None, description="Number of characters at that place.")


class ProblemDocument(BaseModel):
    """An error (RFC 9457)."""

    model_config = example(
        type="urn:ipulse:problem:invalid_spec",
        title="Unprocessable Content",
        status=422,
        detail="The spec is not valid.",
        instance="/v1/jobs",
        code="invalid_spec",
        request_id="3f6c1d2e9a8b7c6d",
        errors=[
            {
                "pointer": "/training/epochs",
                "code": "out_of_range",
                "detail": "0 is below the minimum of 1",
            }
        ],
    )

    type: str
    title: str = Field(description="The status in words.")
    status: int
    detail: str = Field(description="For people; the wording may change.")
    instance: str = Field(description="The path of the request.")
    code: str = Field(description="Stable; programs may rely on it.")
    request_id: str = Field(description="Finds the request in the service's log.")
    errors: list[ProblemDetail]


class ProblemChoice(BaseModel):
    """One meaning of an input that has several."""

    options: dict[str, str] = Field(description="Parameters of the query that choose it.")
    meaning: str = Field(description="For people; the wording may change.")


class NirProblem(ProblemDocument):
    """An error (RFC 9457) of a NIR file."""

    model_config = example(
        type="urn:ipulse:problem:nir_ambiguous",
        title="Unprocessable Content",
        status=422,
        detail="the file does not say which program wrote it, and they differ in their spikes",
        instance="/v1/networks:import",
        code="nir_ambiguous",
        request_id="3f6c1d2e9a8b7c6d",
        errors=[
            {
                "pointer": "/body",
                "code": "nir_ambiguous",
                "detail": "the file does not say which program wrote it",
            }
        ],
        choices=[
            {"options": {"writer": "norse", "step_ms": "1"}, "meaning": "Norse"},
            {"options": {"writer": "sinabs"}, "meaning": "Sinabs"},
        ],
    )

    choices: list[ProblemChoice] | None = Field(
        default=None, description="Of `nir_ambiguous`: what the file may mean; else absent."
    )
