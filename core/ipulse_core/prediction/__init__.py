"""What a training step on tiles will take, before anything is compiled."""
