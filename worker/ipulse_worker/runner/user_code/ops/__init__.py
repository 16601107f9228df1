"""Custom ops of users as layers of a network: built once, and run in a process of their own."""
