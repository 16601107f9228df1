"""The kinds of attempts at a job: a training, a program or script, a training in a sandbox."""
