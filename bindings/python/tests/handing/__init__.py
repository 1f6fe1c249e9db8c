"""What the tests hand over, and to whom."""
