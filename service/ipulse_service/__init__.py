"""The HTTP side: sole owner of the database and of the artifact store."""

import logging

# Commands that import the service print its errors themselves.
logging.getLogger(__name__).addHandler(logging.NullHandler())
