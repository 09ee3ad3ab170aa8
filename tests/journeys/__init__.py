"""Programs with several defects, as first ports are, healed round by round from reports alone.

A folder for each: ``start.py``, what was changed after each report (``1.patch``, ``2.patch``, …),
and ``expert.py``, the same program by somebody who knows XLA.
``python -m tests.journeys`` runs each stage, and writes down what its report finds.
"""
