"""What of a program's sizes is the largest that fits: lowered at several, compiled at few."""
