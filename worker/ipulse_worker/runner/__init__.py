"""One attempt in one process: data, model, training, profile."""
