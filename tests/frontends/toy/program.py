"""A loop that reads a number in each step."""

import toyarrays

total, seen = toyarrays.array([0.0] * 8), 0.0
for step in range(60):
    total = total + toyarrays.array([1.0] * 8)
    toyarrays.sync()
    seen += total.item()  # it waits for the device
print("seen", seen)
