-- Internal: graphs whose instructions have neither lines nor operations, as those of other profilers.
CREATE TABLE bare_graph AS
SELECT process, program_id FROM hlo_instruction
GROUP BY ALL HAVING count(file) = 0 AND count(op_type) = 0;

-- Instructions that compute something, by the pass of training that they belong to. A backward pass
-- has no line, or the line that starts it, or those of the forward pass, and only the names of its
-- operations tell; what the compiler adds may have no operation either. In a bare graph nothing tells
-- the passes apart.
-- * product: whether it is a product of matrices, a convolution or a custom call
-- * pass: forward, backward, update, or NULL if unknown
-- * others: as in hlo_instruction
-- > SELECT pass, count(*) AS n FROM computing WHERE product GROUP BY pass
CREATE TABLE computing AS
SELECT i.*,
       i.opcode IN ('dot', 'convolution', 'custom-call') AS product,
       CASE WHEN o.line IS NOT NULL OR i.via = 'step' THEN 'update'
            WHEN i.via IN ('backward', 'grad') OR (i.file IS NULL AND i.op_type IS NOT NULL)
                  OR contains(i.op_name, 'transpose(jvp(')
            THEN 'backward'
            WHEN i.file IS NOT NULL OR b.process IS NOT NULL THEN 'forward' END AS pass
FROM hlo_instruction i
LEFT JOIN bare_graph b USING (process, program_id)
LEFT JOIN (SELECT DISTINCT process, file, line FROM optimizer) o
    ON o.process = i.process AND o.file = i.file AND o.line = i.line
WHERE i.opcode NOT IN ('parameter', 'constant', 'tuple', 'get-tuple-element', 'bitcast',
                       'broadcast', 'reshape', 'copy', 'call');

-- Internal: parameters of graphs that may be weights, and the same in another layout or type (`id`).
CREATE TABLE laid_out_weight AS
WITH RECURSIVE weight AS (
    SELECT process, program_id, id, id AS origin
    FROM hlo_instruction WHERE entry AND opcode = 'parameter' AND len(shape) >= 2
    UNION ALL
    SELECT i.process, i.program_id, i.id, w.origin
    FROM weight w
    JOIN hlo_instruction i
        ON i.process = w.process AND i.program_id = w.program_id AND i.operands[1] = w.id
    WHERE i.entry AND len(i.operands) = 1
      AND (i.opcode IN ('bitcast', 'copy', 'transpose', 'convert', 'reshape')
           OR i.op_type IS NULL)  -- the compiler's own change of layout
)
FROM weight;

-- Internal: how often the forward pass of a graph multiplies by the same matrix, in the median. Only where
-- half of its products are of such matrices: a loop goes over the same layers again and again.
CREATE TABLE reused_weights AS
WITH products AS (
    SELECT process, program_id, list(DISTINCT frame ORDER BY frame) AS frames, count(*) AS count
    FROM computing WHERE product AND pass = 'forward' GROUP BY process, program_id
),
operand AS (  -- a fusion may hold the product of its line
    SELECT c.process, c.program_id, c.id, unnest(c.operands) AS operand
    FROM computing c JOIN products p USING (process, program_id)
    WHERE c.entry AND c.pass = 'forward' AND c.opcode NOT IN ('transpose', 'convert')
      AND list_contains(p.frames, c.frame)
),
used AS (
    SELECT w.process, w.program_id, w.origin, count(DISTINCT o.id) AS times
    FROM operand o
    JOIN laid_out_weight w
        ON w.process = o.process AND w.program_id = o.program_id AND w.id = o.operand
    GROUP BY w.process, w.program_id, w.origin HAVING times >= 2
)
SELECT u.process, u.program_id, quantile_disc(u.times, 0.5)::BIGINT AS copies
FROM used u JOIN products p USING (process, program_id)
GROUP BY u.process, u.program_id HAVING 2 * sum(u.times) >= any_value(p.count);

-- Internal: graphs without lines, as those compiled late, that multiply by the same matrices again and again, each time
-- something of another size: how often, in the median, and how many matrices. Only where half of their products are such.
CREATE TABLE outgrown_weights AS
WITH products AS (
    SELECT process, program_id, id, shape, operands, count(*) OVER (PARTITION BY process, program_id) AS products
    FROM computing WHERE product AND entry
    QUALIFY count(file) OVER (PARTITION BY process, program_id) = 0
),
used AS (
    SELECT w.process, w.program_id, any_value(p.products) AS products, count(DISTINCT p.id) AS times
    FROM (SELECT *, unnest(operands) AS operand FROM products) p
    JOIN laid_out_weight w
        ON w.process = p.process AND w.program_id = p.program_id AND w.id = p.operand
    GROUP BY w.process, w.program_id, w.origin
    HAVING times >= least_copies() AND count(DISTINCT p.shape) = times
)
SELECT process, program_id, quantile_disc(times, 0.5)::BIGINT AS copies, count(*) AS weights
FROM used GROUP BY process, program_id HAVING 2 * sum(times) >= any_value(products);

-- Internal: places of the forward pass by operation, and how often a graph has it there: in its entry, since
-- fusions repeat cheap instructions at will, and anywhere. Where operations have no types, one
-- line may stand for a whole backward pass, so that their names count, without numbers.
CREATE TABLE repeated_place AS
SELECT process, program_id, frame, opcode, shape, product, file, line,
       any_value(function) AS function, unnest(any_value(caller(c))), count(*) AS times,
       count(*) FILTER (entry) AS in_entry
FROM computing c WHERE pass = 'forward'
GROUP BY process, program_id, frame, opcode, shape, product, file, line,
         CASE WHEN op_type IS NULL THEN regexp_replace(op_name, '\d+', '', 'g') END;

-- Internal: how often the update of a graph does the same: once for each tensor of a shape; and for all, in
-- which numbers are as many, such as the norms of their gradients.
CREATE TABLE updated_tensors AS
SELECT process, program_id, shape, unnest([count(*) FILTER (entry), count(*)]) AS times  -- fused or not
FROM computing WHERE pass = 'update' GROUP BY process, program_id, op_type, opcode, shape
UNION ALL
SELECT process, program_id, []::BIGINT[], unnest([count(*) FILTER (entry), count(*)])
FROM computing WHERE pass = 'update' GROUP BY process, program_id, op_type, opcode;

-- Internal: operations of which a graph has some in fusions of one each, and the others bare: how many are
-- fused, and how many there are.
CREATE TABLE also_bare AS
SELECT f.process, f.program_id, f.in_entry AS fused, max(o.times) AS times
FROM repeated_place f
JOIN repeated_place o USING (process, program_id, frame, file, line, shape)
WHERE f.opcode = 'fusion' AND o.opcode <> 'fusion' AND o.in_entry > 0
  AND o.times - o.in_entry = f.in_entry
GROUP BY f.process, f.program_id, f.in_entry;

-- Graphs that hold a block several times: as a loop over points in time or batches does, or as
-- `layers` of the same shape, each with weights of its own. `part`: share of the graph's instructions
-- that is copies of the first. The backward pass repeats what the forward pass does; an update does
-- not.
-- * program_id: number of the program
-- * copies: how often the graph has the block
-- * layers: whether the copies are layers, each with its own weights
-- * bare: whether its instructions have neither lines nor operation names
-- * trains: whether it updates parameters
-- * convolves: whether it has convolutions
-- * opcode: operation that is repeated at the line
-- * part: share (0 to 1) of the graph's instructions that are copies of the first
-- > SELECT file, line, copies, part FROM repetition WHERE NOT layers
CREATE TABLE repetition AS
WITH counted AS (
    SELECT process, program_id, CASE WHEN product THEN p.times ELSE in_entry END AS times,
           sum(CASE WHEN product THEN p.times ELSE in_entry END) AS explains,
           bool_or(product) AS counts
    FROM repeated_place p
    WHERE (product AND p.times >= least_copies())
       OR (in_entry >= 16  -- one operation may become several fusions, if not so many
           AND NOT EXISTS (  -- what is done with each gradient, as clipping them, is no loop
               SELECT 1 FROM updated_tensors u WHERE u.process = p.process
                   AND u.program_id = p.program_id AND u.times = p.in_entry
                   AND u.shape IS NOT DISTINCT FROM p.shape
           ))
    GROUP BY process, program_id, CASE WHEN product THEN p.times ELSE in_entry END
),
copied AS (
    SELECT c.process, c.program_id, bool_or(c.counts) AS counts, any_value(b.process) IS NOT NULL AS bare,
           coalesce(  -- in a bare graph the backward pass counts, too: twice for each product
               min(c.times) FILTER (c.counts AND b.process IS NOT NULL AND 4 * c.times >= m.times),
               -- the commonest count, by how many instructions it explains; products first
               arg_max(c.times, (c.counts, c.explains, c.times))
           ) AS copies
    FROM counted c
    LEFT JOIN (
        SELECT process, program_id, max(times) AS times FROM counted WHERE counts GROUP BY ALL
    ) m USING (process, program_id)
    LEFT JOIN bare_graph b USING (process, program_id)
    GROUP BY c.process, c.program_id
),
graph AS (
    SELECT c.process, c.program_id, coalesce(r.copies, c.copies) AS copies,
           CASE WHEN r.copies IS NULL AND c.counts THEN (
               SELECT count(*) FROM hlo_instruction i
               WHERE i.process = c.process AND i.program_id = c.program_id
                 AND i.entry AND i.opcode = 'parameter' AND len(i.shape) >= 2
           ) * if(c.bare, 3, 1) >= c.copies ELSE FALSE END AS layers,
           c.bare, c.counts OR r.copies IS NOT NULL AS of_products
    FROM copied c
    LEFT JOIN reused_weights r  -- of a few uses, as of two inputs, what else is repeated may be a loop
        ON r.process = c.process AND r.program_id = c.program_id AND (c.counts OR r.copies >= least_copies())
),
size AS (
    SELECT process, program_id, count(*) AS instructions,
           count(*) FILTER (pass = 'forward') AS forward,
           count(*) FILTER (pass = 'update') AS updates,
           count(*) FILTER (product AND pass = 'forward') AS forward_products,
           count(*) FILTER (product AND pass = 'backward') AS backward_products,
           -- a backward pass has two products for each; of more, the forward pass has no lines
           count(*) FILTER (product) <= 4 * forward_products AS lined,
           bool_or(opcode = 'convolution') AS convolves
    FROM computing GROUP BY process, program_id
),
block AS (  -- and the line that has most of it, outside of fusions if it is there
    SELECT process, program_id, sum(times) AS instructions,
           arg_max(site, (products, bare, times, -line)) AS site,
           arg_max(opcode, (products, bare, times, -line)) AS opcode
    FROM (
        SELECT p.process, p.program_id, p.line, any_value(g.of_products) AS of_products,
               arg_max(site(p), p.times) AS site,
               arg_max(p.opcode, (p.product, p.times)) AS opcode, sum(p.times) AS times,
               bool_or(in_each_copy(p.in_entry, g.copies)) AS bare,
               coalesce(sum(p.times) FILTER (p.product), 0) AS products
        FROM repeated_place p JOIN graph g USING (process, program_id)
        WHERE in_each_copy(p.times, g.copies) AND g.copies > 1
        GROUP BY p.process, p.program_id, p.file, p.line
    ) GROUP BY process, program_id
    HAVING sum(products) > 0 OR NOT bool_or(of_products)  -- else what fusions repeat at will
)
SELECT g.process, g.program_id, coalesce(a.times, g.copies) AS copies, g.layers AND s.lined AS layers, g.bare,
       (s.updates > 0  -- or the program updates its parameters itself
           OR s.backward_products >= greatest(s.forward_products, g.copies)) AND s.lined AS trains,
       s.convolves, b.opcode, unnest(b.site),
       b.instructions / s.forward * (1 - 1 / g.copies)
           * (s.instructions - s.updates) / s.instructions AS part
FROM graph g
JOIN size s USING (process, program_id)
JOIN block b USING (process, program_id)
LEFT JOIN also_bare a
    ON a.process = g.process AND a.program_id = g.program_id AND a.fused = g.copies;

-- Batches that a graph computes on: inputs of one shape that one line sends, again at other steps.
-- `loop`: the innermost loop around the line that sends them.
-- * program_id: number of the program
-- * count: batches
-- * loop: the loop around the line of the backward pass: file, line, last_line
-- > SELECT program_id, count FROM batches_in_graph
CREATE TABLE batches_in_graph AS
SELECT process, program_id, max(count) AS count, arg_max(loop, count) AS loop
FROM (
    SELECT p.process, p.program_id, count(*) AS count, any_value(e.loop) AS loop
    FROM hlo_parameter p
    JOIN (
        SELECT process, file, line FROM upload
        GROUP BY process, file, line HAVING count(DISTINCT step) > 1
    ) u ON u.process = p.process AND u.file = p.file AND u.line = p.line
    LEFT JOIN (
        SELECT process, file, line,
               any_value({'file': loop_file, 'line': first_line, 'last_line': last_line}) AS loop
        FROM enclosing_loop WHERE depth = 0 GROUP BY ALL
    ) e ON e.process = p.process AND e.file = p.file AND e.line = p.line
    WHERE p.sent GROUP BY p.process, p.program_id, p.file, p.line, p.shape, p.type
) GROUP BY process, program_id;
