"""The report as one HTML file: opened from disk, it loads nothing and obeys nothing it shows."""

from xladoctor.report.html.page import render

__all__ = ["render"]
