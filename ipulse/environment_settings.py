"""How service and agent read their settings: frozen models, filled from environment variables."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from ipulse_core.errors import InvalidInput, Problem, Unavailable
from ipulse_core.messages import MIN_TOKEN_LENGTH


class EnvironmentSettings(BaseModel):
    """Settings of a program, each read from `IPULSE_` and its name in capitals.

    Secrets are read from files that the settings name, never from the environment.
    """

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        validate_default=True,
        hide_input_in_errors=True,  # the broker's URL may contain a password
    )

    # Settings with a variable of another name; None: it is not read from the environment.
    VARIABLES: ClassVar[Mapping[str, str | None]] = {}
    EMPTY_IS_UNSET: ClassVar[Collection[str]] = ()  # settings; of others an empty text is a value

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        """Reads the settings. Raises InvalidInput, which names every wrong variable."""
        return cls.read(environment)

    @classmethod
    def read(
        cls,
        environment: Mapping[str, str],
        needed: Collection[str] = (),
        ignored: Collection[str] = (),
    ) -> Self:
        """Reads the settings.

        Args:
            environment: the variables; validators get them as their context.
            needed: settings without which the program cannot run.
            ignored: settings that are not read, whatever the environment has.

        Raises:
            InvalidInput: for wrong values and for what is needed; it names every variable.
        """
        values: dict[str, Any] = {}
        problems: list[Problem] = []
        for name in cls.model_fields:
            variable = cls.variable_of(name)
            if variable is None or name in ignored:
                continue
            value = environment.get(variable)
            if value or (value is not None and name not in cls.EMPTY_IS_UNSET):
                values[name] = value
            elif name in needed:
                problems.append(Problem(variable, "environment", "is not set"))
        try:
            settings = cls.model_validate(values, context=environment)
        except ValidationError as error:
            problems += map(cls._problem, error.errors(include_url=False, include_input=False))
        if problems:
            raise InvalidInput(problems, "The environment is not valid.")
        return settings

    @classmethod
    def variable_of(cls, name: str) -> str | None:
        """Returns the environment variable of a setting, None without one."""
        return cls.VARIABLES.get(name, f"IPULSE_{name.upper()}")

    @classmethod
    def _problem(cls, error: Any) -> Problem:
        variable = cls.variable_of(str(error["loc"][0])) if error["loc"] else None
        cause = error.get("ctx", {}).get("error")  # of a validator
        detail = str(cause or error["msg"])
        return Problem(variable or "the environment", "environment", detail)


def read_token(path: Path, hint: str) -> str:
    """Returns the secret in a token file. Raises Unavailable, with the hint if it has none."""
    try:
        token = path.read_text("ascii").strip()
    except OSError as error:
        raise Unavailable(f"cannot read a token from {path} ({error.strerror}): {hint}") from error
    except UnicodeDecodeError as error:
        raise Unavailable(f"the token in {path} is not ASCII text") from error
    if len(token) < MIN_TOKEN_LENGTH:
        raise Unavailable(f"the token in {path} is shorter than {MIN_TOKEN_LENGTH} characters")
    return token
