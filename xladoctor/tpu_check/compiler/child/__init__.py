"""What runs in the user's interpreter, which gets this folder as its script.

It stays on the path there, so its modules have names that nobody else's have.
"""
