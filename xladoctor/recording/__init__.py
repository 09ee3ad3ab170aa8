"""Recording: runs a program under observation and leaves a run directory."""
