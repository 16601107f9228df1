"""News of jobs for other programs and people: signed webhooks, chats and mail."""
