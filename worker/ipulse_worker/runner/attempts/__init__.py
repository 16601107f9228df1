"""The three kinds of attempts at a job: a training, a program, a training in a sandbox."""
