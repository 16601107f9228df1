"""Parts that the three benchmark programs share."""
