-- Internal: Bytes of an element, of a type as HLO text writes it.
CREATE MACRO element_bytes(type_) AS if(type_ = 'pred', 1, coalesce(TRY_CAST(regexp_extract(type_, '\d+') AS INTEGER), 32) / 8);

-- Internal: The dimensions of a shape as HLO text writes it.
CREATE MACRO dimensions_of(text_) AS regexp_extract_all(regexp_extract(text_, '\[.*'), '\d+')::BIGINT[];

-- Internal: How an array is split, in words, from its shape as HLO text writes it and that of a part; NULL if one is unknown, or
-- they do not fit.
CREATE MACRO split_words(whole_, part_) AS CASE WHEN len(part_) = len(dimensions_of(whole_))
    AND list_bool_and(list_transform(dimensions_of(whole_), lambda size, nth: part_[nth] > 0 AND size % part_[nth] = 0))
    THEN coalesce(nullif(array_to_string(list_filter(list_transform(dimensions_of(whole_), lambda size, nth:
        CASE WHEN size > part_[nth] THEN 'dimension ' || (nth - 1) || ' in ' || size // part_[nth] || ' parts' END),
        lambda text: text IS NOT NULL), ', '), ''), 'whole on each device') END;

-- Internal: Large arguments of compiled functions, where the graph is known. `bytes`: of a device. `aliased`: whether a
-- result takes its memory. `defined`: the line that defines the function; `called`: that which compiled it.
CREATE TABLE held_argument AS
SELECT a.process, a.index, m.program_id, i.shape AS part, compiled_function(c.cause) AS compiled, a.number, a.argument, a.shape, a.donated,
       (list_product(i.shape) * element_bytes(i.type))::BIGINT AS bytes, c.memory_bytes, c.launches,
       list_contains(m.aliased, i.parameter) AS aliased, site(a) AS defined, site(c) AS called
FROM call_array a JOIN compilation c USING (process, index)
JOIN hlo_module m ON m.process = c.process AND m.graph_hash = c.graph_hash
JOIN hlo_instruction i ON i.process = m.process AND i.program_id = m.program_id AND i.entry AND i.opcode = 'parameter'
                      AND i.op_name = a.argument
WHERE a.role = 'argument';

-- Internal: Results by shape: all, and those that already take the memory of an argument.
CREATE TABLE free_result AS
SELECT r.process, r.index, r.shape, r.count - coalesce(a.count, 0) AS free
FROM (SELECT process, index, shape, count(*) AS count FROM call_array WHERE role = 'result' GROUP BY ALL) r
LEFT JOIN (SELECT process, index, shape, count(*) AS count FROM held_argument WHERE aliased GROUP BY ALL) a
    USING (process, index, shape);

-- Internal: Arguments that the program donates in vain, with the nearest result and why that cannot take their memory:
-- placement, taken (by another argument), type, shape, or none. Arguments that the graph does not use are not there.
-- `split`, `result_split`: how each is split, in words, where that is known.
CREATE TABLE refused_donation AS
WITH refused AS (
    SELECT *, regexp_extract(shape, '\[.*') AS dimensions, regexp_extract(argument, '(\w+)\W*$', 1) AS name
    FROM held_argument WHERE donated AND NOT aliased
),
pair AS (
    SELECT d.*, r.argument AS result, r.shape AS result_shape,
           CASE WHEN r.shape = d.shape THEN if(f.free > 0, 'placement', 'taken')
                WHEN regexp_extract(r.shape, '\[.*') = d.dimensions THEN 'type'
                WHEN regexp_extract(r.argument, '(\w+)\W*$', 1) = d.name THEN 'shape' ELSE 'none' END AS reason,
           regexp_extract(r.argument, '(\w+)\W*$', 1) = d.name AS named, r.number AS result_number
    FROM refused d LEFT JOIN call_array r ON r.process = d.process AND r.index = d.index AND r.role = 'result'
    LEFT JOIN free_result f ON f.process = r.process AND f.index = r.index AND f.shape = r.shape
)
SELECT * EXCLUDE (part) REPLACE (if(claimed, 'none', reason) AS reason), split_words(shape, part) AS split, (
    SELECT split_words(p.result_shape, any_value(o.shape)) FROM hlo_instruction r
    JOIN hlo_instruction o ON o.process = r.process AND o.program_id = r.program_id AND o.computation = r.computation
        AND o.id = if(r.opcode = 'tuple', r.operands[p.result_number + 1], r.id)
    WHERE r.entry AND r.root AND r.process = p.process AND r.program_id = p.program_id
) AS result_split
FROM (SELECT *, reason = 'type' AND NOT named AND bool_or(named) OVER (PARTITION BY process, index, result_number) AS claimed
      FROM pair) p
QUALIFY row_number() OVER (
    PARTITION BY process, index, number ORDER BY claimed OR reason = 'none', reason = 'shape', NOT coalesce(named, FALSE),
    reason = 'type', reason = 'taken', result_number
) = 1;

-- Internal: Functions with results that could take the memory of arguments which nothing was seen to need after a call, and
-- which the program does not donate.
CREATE TABLE undonated AS
WITH fate AS (
    SELECT process, compiled, number, bool_or(used IS NOT NULL) AS used FROM argument_use GROUP BY ALL
),
candidate AS (
    SELECT h.*, regexp_extract(h.argument, '^\w+') AS name FROM held_argument h JOIN fate t USING (process, compiled, number)
    WHERE NOT h.donated AND NOT h.aliased
    -- an argument is donated as a whole
    QUALIFY NOT bool_or(t.used) OVER (PARTITION BY h.process, h.index, regexp_extract(h.argument, '^\w+'))
),
pair AS (
    SELECT c.* FROM candidate c JOIN free_result f USING (process, index, shape)
    QUALIFY row_number() OVER (PARTITION BY c.process, c.index, c.shape ORDER BY c.number) <= f.free
)
SELECT process, index, compiled, any_value(defined) AS defined, any_value(called) AS called, count(*) AS count,
       sum(bytes)::BIGINT AS bytes, any_value(memory_bytes) AS memory_bytes, list(argument ORDER BY number) AS arguments,
       list_sort(list_distinct(list(name))) AS names
FROM pair GROUP BY process, index, compiled;

-- Internal: The same of graphs whose functions and arguments are not known, by the shapes alone, if they donate nothing.
CREATE TABLE undonated_graph AS
WITH result AS (  -- what the graph gives
    SELECT r.process, r.program_id, o.type, o.shape, count(*) AS count
    FROM hlo_instruction r
    JOIN hlo_instruction o ON o.process = r.process AND o.program_id = r.program_id
        AND o.computation = r.computation AND list_contains(r.operands, o.id)
    WHERE r.entry AND r.root AND r.opcode = 'tuple' AND o.opcode <> 'parameter'
    GROUP BY ALL
),
kept AS (  -- what it takes, was not sent for it, and may not be written over
    SELECT p.process, p.program_id, p.type, p.shape, count(*) AS count
    FROM hlo_parameter p JOIN hlo_module m USING (process, program_id)
    WHERE NOT coalesce(p.sent, FALSE) AND len(coalesce(m.donated, [])) = 0 AND len(p.shape) > 0
      AND p.process NOT IN (SELECT process FROM call_array)
    GROUP BY ALL
)
SELECT process, program_id, sum(least(k.count, r.count))::BIGINT AS count,
       sum(least(k.count, r.count) * list_product(k.shape) * element_bytes(k.type))::BIGINT AS bytes
FROM kept k JOIN result r USING (process, program_id, type, shape)
GROUP BY process, program_id;

-- Internal: Processes of which it is known what they could donate: where functions run in a loop and have something to donate,
-- calls were watched.
CREATE TABLE donation_known AS
SELECT process FROM process WHERE process NOT IN (
    SELECT h.process FROM held_argument h JOIN free_result f USING (process, index, shape)
    WHERE f.free > 0 AND NOT h.aliased AND NOT h.donated AND h.launches >= 5  -- fewer are no loop, and not watched
)
UNION SELECT process FROM argument_use;

-- Internal: Donations that a log says were refused, with the bytes of the arrays that it names.
CREATE TABLE logged_refusal AS
SELECT process, text, sum(count)::BIGINT AS count, list_sum(list_transform(
           regexp_extract_all(text, '\w+\[[\d,]*\]'), lambda named: element_bytes(regexp_extract(named, '^\w+'))
           * coalesce(list_product(regexp_extract_all(regexp_extract(named, '\[.*'), '\d+')::BIGINT[]), 1)))::BIGINT AS bytes
FROM logged_warning WHERE kind = 'donation refused' AND process NOT IN (SELECT process FROM call_array) GROUP BY ALL;
