"""Tests of the files of users' folders."""
