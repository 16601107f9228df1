"""The parts around the routes: connections, middleware, methods and the request log."""
