-- Processes that can load the graphs that an earlier run compiled, and do so only if told to: on a
-- CPU only JAX can, and Neuron keeps them in a cache of its own.
-- > SELECT process FROM reloading
CREATE TABLE reloading AS
SELECT process FROM process
WHERE NOT device_is(device_kind, 'caches') AND (frontend = 'jax' OR NOT device_is(device_kind, 'host'));
