-- Internal: Messages that memory does not suffice, with the named buffers added up: `padding` and `kept` (for the backward
-- pass) in bytes, and those of one line and shape together, the largest first.
CREATE TABLE shortage AS
WITH alike AS (
    SELECT process, number, type, shape, kind, arg_min(op_name, nth) AS op_name, arg_min(site(b), nth) AS site,
           count(*) AS count, sum(bytes)::BIGINT AS bytes, min(nth) AS nth,
           sum(bytes - coalesce(unpadded_bytes, bytes))::BIGINT AS padding,
           (sum(bytes) FILTER (op_name LIKE '%jvp(%' AND op_name NOT LIKE '%transpose(jvp(%'))::BIGINT AS kept
    FROM shortage_buffer b WHERE bytes IS NOT NULL
    GROUP BY process, number, type, shape, kind, file, line
),
named AS (
    SELECT process, number, sum(bytes)::BIGINT AS bytes, sum(padding)::BIGINT AS padding, coalesce(sum(kept), 0)::BIGINT AS kept,
           arg_max(site, bytes) FILTER (site.line IS NOT NULL) AS site,
           list({'count': count, 'gib': bytes / 2**30, 'array': type || '[' || array_to_string(shape, ',') || ']',
                 'op': regexp_extract(op_name, '[^/]*$'), 'file': site.file, 'line': site.line, 'kind': kind}
                ORDER BY bytes DESC, nth) AS largest
    FROM alike GROUP BY ALL
)
SELECT m.*, n.bytes AS named_bytes, n.padding, n.kept, n.site AS made, n.largest
FROM memory_shortage m LEFT JOIN named n USING (process, number);

-- Internal: Those that an exception raised, and so are no attempt of a compiler that went on with another.
CREATE TABLE shortage_raised AS SELECT * FROM shortage WHERE raised;
