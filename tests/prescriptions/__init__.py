"""Each rule's fix, followed literally on a sick program: is the finding gone, and what comes next?

``patches/<rule>/<frontend>-<name>.patch`` changes a program as somebody does who has only the
report. ``python -m tests.prescriptions`` runs the programs before and after, and writes down what
was found.
"""
