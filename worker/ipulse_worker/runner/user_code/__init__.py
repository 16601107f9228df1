"""Code of users: how it is built, runs in a sandbox, is limited, and talks to the runner."""
