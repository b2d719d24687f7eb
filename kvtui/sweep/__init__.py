"""Many runs that differ in a few settings: a grid of cells, run anywhere, told in one table.

A cell is a pure function of a few plain values, so that any `concurrent.futures.Executor` can run it and
every executor gives the same results.
"""
