"""Checks an installed package of neurons before an administrator signs it off."""
