"""The objects that tests hand over, and their consumers."""
