"""The neurons of layers: their constants."""
