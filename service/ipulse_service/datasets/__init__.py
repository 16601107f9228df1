"""Data sets of users: uploads, versions, their check, and how specs refer to them."""
