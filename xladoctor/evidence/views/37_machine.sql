-- Internal: Processes of which it is known what accelerators their machine has.
CREATE TABLE machine AS SELECT * FROM process WHERE accelerators IS NOT NULL;

-- Internal: Processes of which it is known whether their capture ended with them.
CREATE TABLE whole AS SELECT * FROM process WHERE ended IS NOT NULL;

-- Internal: Processes whose device is not the CPU, beside which Python outweighs any small model.
CREATE TABLE accelerated AS SELECT * FROM process WHERE device_kind <> 'CPU';

-- Internal: Processes whose device computes on tiles of 8 by 128 elements, and on bfloat16 before all others.
CREATE TABLE tiled AS SELECT * FROM process WHERE device_kind = 'TPU';

-- Internal: Settings for debugging that are on. In the environment their names are in capitals, in JAX's configuration in small
-- letters.
CREATE TABLE debugging_setting AS
SELECT *, lower(name) AS setting FROM environment
WHERE ((name IN ('XLA_IR_DEBUG', 'XLA_HLO_DEBUG', 'XLA_SYNC_WAIT', 'XLA_USE_EAGER_DEBUG_MODE', 'PT_XLA_DEBUG',
                 'PT_XLA_DEBUG_LEVEL')
        OR setting IN ('jax_debug_nans', 'jax_debug_infs', 'jax_disable_jit', 'jax_log_compiles',
                       'jax_explain_cache_misses', 'jax_check_tracer_leaks'))
       AND lower(trim(value)) NOT IN ('', '0', 'f', 'n', 'false', 'no', 'off'))
   OR (name IN ('XLA_SAVE_TENSORS_FILE', 'PT_XLA_DEBUG_FILE') AND trim(value) <> '');
