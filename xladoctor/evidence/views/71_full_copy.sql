-- Internal: Arrays that the partitioner made whole on each device, with the line that makes them (`made`) if the message or
-- the compiled module names one, and the line of the call (`called`) where it is known.
CREATE TABLE copied_in_full AS
WITH program AS (
    SELECT f.* EXCLUDE (file, line, function, user_file, user_line, user_function),
           if(f.index IS NULL, site(f), NULL) AS named, if(f.index IS NULL, NULL, site(f)) AS called,
           c.launches, m.program_id, row_number() OVER () AS number
    FROM full_copy f LEFT JOIN compilation c ON c.process = f.process AND c.index = f.index
    LEFT JOIN hlo_module m ON m.process = f.process
        AND if(f.index IS NULL, regexp_replace(m.name, '^jit_', '') = f.compiled, m.graph_hash = c.graph_hash)
),
line AS (  -- operations of one name may stand in several lines, which their frames tell apart
    SELECT p.number, any_value(site(i)) AS site
    FROM program p JOIN hlo_instruction i ON i.process = p.process AND i.program_id = p.program_id
        AND i.op_name = p.op_name AND i.line IS NOT NULL AND (p.frame IS NULL OR i.frame = p.frame)
    GROUP BY p.number HAVING count(DISTINCT site(i)) = 1
)
SELECT DISTINCT ON (number) p.* EXCLUDE (named, program_id, number), if(p.named.line IS NULL, l.site, p.named) AS made
FROM program p LEFT JOIN line l USING (number);
