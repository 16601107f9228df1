"""How much the service bears, and beside it a bare job service of the usual parts."""
