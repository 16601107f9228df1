"""The HTTP side: sole owner of the database and of the artifact store."""
