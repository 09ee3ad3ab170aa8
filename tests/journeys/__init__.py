"""Programs with several defects, as first ports are, healed round by round from reports alone.

A folder for each has what was changed after each report (``1.patch``, ``2.patch``, …), of
``program.py``; and ``start.py`` with ``expert.py``, the same program by somebody who knows XLA,
unless these are a program of ``tests/ported`` of that name and its fixed twin.
``python -m tests.journeys`` runs each stage, and writes down what its report finds.
"""
