"""The measured job services: IPUlse and its peers."""
