"""Published figures as runnable experiments: the paper's value, ours, the deviation and what is allowed."""
