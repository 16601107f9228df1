"""How an agent runs one attempt in a runner process and supervises it."""
