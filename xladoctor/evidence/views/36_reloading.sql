-- Processes that can load the graphs that an earlier run compiled, and do so only if told to: on the
-- host not with every framework, and Neuron keeps them in a cache of its own.
-- > SELECT process FROM reloading
CREATE TABLE reloading AS
SELECT process FROM process
WHERE NOT device_is(device_kind, 'caches') AND NOT (
    device_is(device_kind, 'host')
    AND frontend NOT IN (SELECT t.frontend FROM frontend_trait t WHERE t.trait = 'reloads_on_host')
);
