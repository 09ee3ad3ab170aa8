"""Moves a program from one framework to another: by a table of names, one file at a time."""
