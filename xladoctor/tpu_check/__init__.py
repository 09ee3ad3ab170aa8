"""What the compiler of TPUs decides about a program's graphs, on a machine without one."""
