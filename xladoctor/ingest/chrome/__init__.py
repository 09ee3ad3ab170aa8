"""Timelines in Chrome's trace format: JSON, which profilers write for viewers."""
