"""Losses, optimizers, regularisers and initial weights for LIF networks."""
