"""Completes evidence: why call sites compiled again (input, constant or operation, and the line of
it), and how processes compare on one clock.
"""
