-- Internal: processes that ended without the capture's knowledge, such as by a signal.
CREATE TABLE cut_short AS SELECT process FROM process WHERE NOT ended;

-- Where the time of the longest loop went, in nanoseconds: from launch to launch. Without barriers
-- a launch is a read's, and what comes after the last belongs to what came after the loop; of a process that was
-- cut short, or ended while it compiled, to the loop, as nothing tells that it had left it.
-- `setup_ns`: what the first interval's Python has more than the median of the others: the model
-- and the data were made in it. `earlier_compile_ns`: compiling before the loop began, by other threads: callbacks of
-- one long launch make a loop on a thread of their own. `writing_ns`: what the capture wrote after the program's end.
-- * began_at: when its first launch's interval began, in nanoseconds of the wall clock
-- * ended_at: when its last launch's interval ended, in nanoseconds of the wall clock
-- * compile_ns: compiling
-- * read_ns: blocked in reads of device values
-- * input_ns: waiting for the next batch
-- * barrier_ns: in barriers
-- * upload_ns: sending tensors to the device
-- * save_ns: saving checkpoints
-- * python_ns: the rest: Python
-- * setup_ns: the part of python_ns that makes the model and the data
-- * earlier_compile_ns: compiling before the loop, on other threads
-- * writing_ns: writing by the capture after the program's end
-- > SELECT python_ns / (ended_at - began_at) AS python FROM account
CREATE TABLE account AS
WITH interval_ AS (
    SELECT s.process, s.thread, s.begin_ns, s.end_ns, s.duration_ns, s.compile_ns, s.read_ns,
           coalesce(s.input_ns, 0) AS input_ns, s.barrier_ns, s.upload_ns, coalesce(s.save_ns, 0) AS save_ns
    FROM step s JOIN lead l ON l.process = s.process AND l.thread IS NOT DISTINCT FROM s.thread
    WHERE NOT s.tail OR NOT l.without_barrier AND s.process IN (FROM cut_short) OR (l.without_barrier AND NOT EXISTS (
        SELECT 1 FROM cut c WHERE c.process = s.process AND c.thread IS NOT DISTINCT FROM s.thread
    ))
    UNION ALL BY NAME
    SELECT c.process, c.thread, c.begin_ns, c.end_ns, c.duration_ns, c.compile_ns, c.read_ns,
           coalesce(c.input_ns, 0) AS input_ns, c.barrier_ns, c.upload_ns, coalesce(c.save_ns, 0) AS save_ns
    FROM cut c JOIN lead l ON l.process = c.process AND l.thread IS NOT DISTINCT FROM c.thread
    WHERE l.without_barrier AND (c.ended_by <> 'end' OR c.compile_ns >= most() * c.duration_ns)
),
timed AS (
    SELECT *, greatest(0, duration_ns - compile_ns - read_ns - input_ns - barrier_ns - upload_ns
                       - save_ns) AS python_ns,
           row_number() OVER (ORDER BY end_ns) AS nth
    FROM interval_
)
SELECT
    process, thread, min(begin_ns) AS began_at, max(end_ns) AS ended_at,
    sum(compile_ns)::BIGINT AS compile_ns, sum(read_ns)::BIGINT AS read_ns,
    sum(input_ns)::BIGINT AS input_ns, sum(barrier_ns)::BIGINT AS barrier_ns,
    sum(upload_ns)::BIGINT AS upload_ns, sum(save_ns)::BIGINT AS save_ns,
    sum(python_ns)::BIGINT AS python_ns,
    greatest(0, sum(python_ns) FILTER (nth = 1) - coalesce(
        median(python_ns) FILTER (nth > 1), sum(python_ns)
    ))::BIGINT AS setup_ns,
    coalesce((SELECT sum(c.duration_ns) FROM compilation c
              WHERE c.process = timed.process AND c.thread <> timed.thread AND c.end_ns <= min(timed.begin_ns)), 0)::BIGINT
        AS earlier_compile_ns,
    coalesce((SELECT p.ended_ns - p.exit_ns FROM process p
              WHERE p.process = timed.process AND p.ended), 0) AS writing_ns
FROM timed GROUP BY process, thread;
