"""What a decoded timeline says: steps, the loop's thread, devices, compilations."""
