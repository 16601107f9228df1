"""Alembic's environment: runs the revisions on the connection that it is given."""

from __future__ import annotations

from alembic import context

from ipulse_service.db.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=True,
    render_as_batch=True,  # SQLite alters a table by copying it
)
with context.begin_transaction():
    context.run_migrations()
