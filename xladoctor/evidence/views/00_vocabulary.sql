-- Whether an operator, as counters name it, has a trait; see table operator_trait.
-- > SELECT name FROM counter WHERE has_trait(name, 'sized_by_data')
CREATE MACRO has_trait(operator, trait_) AS
    operator IN (SELECT t.op FROM operator_trait t WHERE t.trait = trait_);

-- Internal: Whether a kind of device has a trait. `host`: it is the processor that runs Python; `caches`: it keeps by itself
-- what it compiled; `tiled`: it computes on tiles of 8 by 128 elements, and on bfloat16 before all others.
CREATE MACRO device_is(kind_, trait_) AS list_contains(
    CASE trait_ WHEN 'host' THEN ['CPU'] WHEN 'caches' THEN ['NEURON'] WHEN 'tiled' THEN ['TPU'] END, kind_
);

-- Metrics by what they measure.
-- * meaning: what it measures, as in metric_meaning
-- * rank: its rank in metric_meaning
-- * others: as in metric
-- > SELECT samples, accumulator FROM measured WHERE meaning = 'upload'
CREATE TABLE measured AS
SELECT m.*, n.meaning, n.rank FROM metric m JOIN metric_meaning n USING (name)
QUALIFY row_number() OVER (PARTITION BY m.process, n.meaning ORDER BY n.rank) = 1;

-- What a metrics report says of graphs; NULL where it was cut before. Counters of a process tell more
-- than metrics of all workers. `graphs`: that were handed over; of early releases, that were compiled.
-- * compiled: graphs that were compiled
-- * compile_ns: time spent compiling
-- * longest_compile_ns: 99th percentile of the compilation times
-- * compiled_since: graphs compiled since the previous report in the same text
-- * launched_since: launches since the previous report
-- * launched: launches of graphs
-- * graphs: graphs launched; in reports of early releases, graphs compiled
-- * barriers: barriers
-- * read_ns: time spent reading device values
-- * fetched: how often values were fetched from the device
-- * fetched_bytes: bytes fetched
-- * uploads: how often tensors were sent to the device
-- * upload_ns: time spent sending tensors
-- * upload_growth: nanoseconds spent sending per second at the time of the report
-- * sent_bytes: bytes sent
-- * sends: number of transfers, as counted by the metric of these bytes
-- > SELECT process, compiled, launched, uploads FROM reported
CREATE TABLE reported AS
WITH timed AS (
    SELECT process,
           any_value(m) FILTER (meaning = 'compile') AS c, any_value(m) FILTER (meaning = 'execute') AS e,
           any_value(m) FILTER (meaning = 'read') AS r, any_value(m) FILTER (meaning = 'fetch') AS f,
           any_value(m) FILTER (meaning = 'upload') AS u, any_value(m) FILTER (meaning = 'sent') AS o,
           any_value(m) FILTER (meaning = 'graph_size') AS g
    FROM measured m GROUP BY process
),
counted AS (
    SELECT process, sum(value) FILTER (meaning = 'compiled') AS new,
           sum(value) FILTER (meaning = 'launched_again') AS again, sum(value) FILTER (meaning = 'barrier') AS barriers
    FROM counter JOIN metric_meaning USING (name) GROUP BY process
)
SELECT
    p.process,
    coalesce(if(c.rank = 0, c.samples, NULL), new, c.samples) AS compiled,
    if(c.rank = 0 OR new IS NULL, c.accumulator, NULL) AS compile_ns,
    c.p99 AS longest_compile_ns,
    c.since AS compiled_since, e.since AS launched_since,
    coalesce(if(e.rank = 0, e.samples, NULL), new + coalesce(again, 0), e.samples) AS launched,
    g.samples AS graphs,
    barriers, r.accumulator AS read_ns,
    coalesce(r.samples, f.samples, if(u.samples IS NULL, NULL, 0)) AS fetched,  -- they come together
    if(f.unit = 'bytes', f.accumulator, NULL) AS fetched_bytes,
    u.samples AS uploads, u.accumulator AS upload_ns, u.growth AS upload_growth,
    o.accumulator AS sent_bytes, o.samples AS sends
FROM (SELECT process FROM metric UNION SELECT process FROM counter) p
LEFT JOIN timed USING (process) LEFT JOIN counted USING (process);

-- Internal: processes of which a report alone tells, made after a few launches: what recurs does not show.
CREATE TABLE reported_early AS
SELECT process FROM reported
WHERE coalesce(launched, barriers, graphs) < 10 AND process NOT IN (SELECT process FROM step);

-- Processes of which it is known how often they compiled: of a log or report without steps only if it
-- is long enough to show that a graph is not compiled again, or shows that one is, or numbers the compilations of a
-- function.
-- > SELECT process FROM compile_record
CREATE TABLE compile_record AS
SELECT process FROM step UNION
SELECT process FROM compilation WHERE compile_id IS NOT NULL UNION
SELECT process FROM (
    SELECT process, ordinal FROM compilation UNION ALL SELECT process, NULL FROM execution
)
GROUP BY process HAVING count(*) >= 10 OR count(*) >= 3 AND max(ordinal) > 0 UNION
SELECT process FROM reported
WHERE compiled IS NOT NULL
    AND (coalesce(launched, barriers) >= 10 OR compiled >= 30 OR compiled >= 10 AND compiled_since > 0);

-- Processes whose report has the runtime's counters, among which those of barriers are, and a counter
-- behind them, so that it was not cut there.
-- > SELECT process FROM runtime_counts
CREATE TABLE runtime_counts AS
SELECT c.process FROM counter c LEFT JOIN metric_meaning m USING (name)
GROUP BY c.process HAVING max(c.position) > max(c.position) FILTER (m.meaning = 'handles');

-- Processes of which it is known how often operators ran on the CPU. Each time values are fetched: where
-- few are, no counter is missing. Releases of one registry print counters in order, the runtime's
-- before those of operators on the CPU, those before the lowered ones: what has both ends is whole.
-- > SELECT process FROM operator_counts
CREATE TABLE operator_counts AS
SELECT process FROM step UNION
SELECT process FROM reported WHERE fetched < 0.1 * coalesce(barriers, launched) UNION
SELECT c.process FROM counter c LEFT JOIN metric_meaning m USING (name)
WHERE c.value IS NOT NULL
GROUP BY c.process
HAVING min(c.position) FILTER (m.meaning IN ('handles', 'barrier'))
     < max(c.position) FILTER (EXISTS (SELECT 1 FROM own_counter o WHERE starts_with(c.name, o.prefix)));

-- Processes of which it is known which operators ran on the CPU, and whether scalars were read.
-- > SELECT process FROM operator_record
CREATE TABLE operator_record AS
SELECT process FROM operator_counts UNION
SELECT c.process FROM counter c
WHERE contains(c.name, '::') AND NOT has_trait(c.name, 'reads_scalar')
  AND NOT EXISTS (SELECT 1 FROM own_counter o WHERE starts_with(c.name, o.prefix));

-- Processes of which it is known how long graphs took to compile.
-- > SELECT process FROM compile_times
CREATE TABLE compile_times AS
SELECT process FROM step UNION SELECT process FROM compilation WHERE duration_ns IS NOT NULL
UNION SELECT process FROM reported WHERE compile_ns IS NOT NULL;

-- Processes whose report shows that steps pile up: half of the launches were of new graphs, and next
-- to none was a barrier's. Reports that are cut, or of releases that count no barriers, show nothing.
-- * operations: mean number of operations per graph
-- * others: as in reported
-- > SELECT process, operations FROM reported_piling
CREATE TABLE reported_piling AS
SELECT r.*, round(g.accumulator / g.samples)::BIGINT AS operations
FROM reported r
JOIN measured g ON g.process = r.process AND g.meaning = 'graph_size'
WHERE 10 * coalesce(r.barriers, 0) <= r.launched AND r.compiled >= recurring() AND 2 * r.compiled >= r.launched
  AND r.process IN (SELECT process FROM runtime_counts)
  AND NOT EXISTS (SELECT 1 FROM step) AND NOT EXISTS (SELECT 1 FROM compilation);

-- Internal: What a helper reads for, and what to do instead; NULL where no helper is known to read there.
CREATE MACRO helper_of(file_, function_, via_, kind_) AS (
    SELECT first({'purpose': h.purpose, 'cure': nullif(h.cure, '')}) FROM reading_helper h
    WHERE h.kind = kind_ AND CASE h.package
        WHEN '' THEN regexp_full_match(via_, h.function)
        ELSE contains(file_, '-packages/' || h.package || '/')
            AND regexp_matches(function_, '(' || h.function || ')$')
    END
);

-- Internal: The same of a line, by what it calls or by the function that it is in. A line of several statements
-- does not tell which of them reads.
CREATE MACRO line_of(text_, function_, kind_, by_call) AS (
    SELECT first({'purpose': l.purpose, 'cure': nullif(l.cure, '')}) FROM reading_line l
    WHERE NOT regexp_full_match(kind_, l.but) AND CASE WHEN by_call
        THEN l.call <> '' AND NOT contains(text_, ';') AND regexp_matches(
            regexp_replace(text_, '#[^"'']*$', ''), '(^|[^\w.])([\w.]+\.)?(' || l.call || ')\s*\(')
        ELSE l.method <> '' AND regexp_matches(function_, '(^|\.)(' || l.method || ')$') END
);
