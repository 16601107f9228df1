"""A runner that ends because an import fails."""

import no_such_tensorflow  # type: ignore[import-not-found]  # noqa: F401  # that is the point
