"""Programs of users for Poplar: how they are built, where they run and what they leave."""
