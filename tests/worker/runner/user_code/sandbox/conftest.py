"""A place for a program in a sandbox."""

from tests.core.sandbox.conftest import place as place
