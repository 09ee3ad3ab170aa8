-- Internal: Processes of which it is known what accelerators their machine has.
CREATE TABLE machine AS SELECT * FROM process WHERE accelerators IS NOT NULL;

-- Internal: Processes of which it is known whether their capture ended with them.
CREATE TABLE whole AS SELECT * FROM process WHERE ended IS NOT NULL;

-- Internal: Processes whose device is not the CPU, beside which Python outweighs any small model.
CREATE TABLE accelerated AS SELECT * FROM process WHERE NOT device_is(device_kind, 'host');

-- Internal: Processes whose device computes on tiles of 8 by 128 elements, and on bfloat16 before all others.
CREATE TABLE tiled AS SELECT * FROM process WHERE device_is(device_kind, 'tiled');
