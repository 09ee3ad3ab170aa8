"""Analyses a decoded timeline: steps, the loop's thread, devices, compilations."""
