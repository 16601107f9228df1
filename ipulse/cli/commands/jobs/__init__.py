"""Commands that submit, follow and change jobs."""
