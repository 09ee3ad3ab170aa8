-- Internal: Numbers that are part of what views define. What decides whether something is worth a finding is a
-- threshold of the rule instead, which users can change.

-- Internal: The fewest times that show that something recurs: once is an accident, and twice may be one.
CREATE MACRO recurring() AS 3;

-- Internal: The least share that counts as all: the rest is what an edge of the recording, or a sample, gets wrong.
CREATE MACRO nearly_all() AS 0.9;

-- Internal: The least share that is most of something.
CREATE MACRO most() AS 0.5;

-- Internal: The largest share that is next to nothing: two runs of one program differ by more.
CREATE MACRO negligible() AS 0.01;

-- Internal: The fewest equal parts of a graph that are copies of a block; fewer are usual, as of a discriminator.
CREATE MACRO least_copies() AS 4;

-- Internal: Whether what is there so many times is in each copy of a block; the compiler merges some with others.
CREATE MACRO in_each_copy(times_, copies_) AS times_ >= 0.8 * copies_;
