"""Custom ops that users pushed: source packages with a manifest, which specs name."""
