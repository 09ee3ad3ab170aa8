"""XPlane: the wire format of ``.xplane.pb`` decoded into columns."""
