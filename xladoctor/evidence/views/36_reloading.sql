-- Processes whose device can load the graphs that an earlier run compiled, and does so only if told
-- to: a CPU cannot, and Neuron keeps them in a cache of its own.
-- > SELECT process FROM reloading
CREATE TABLE reloading AS
SELECT process FROM process WHERE NOT (device_is(device_kind, 'host') OR device_is(device_kind, 'caches'));
