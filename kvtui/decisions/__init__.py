"""Decisions of the scheduler, step by step, in the format in which real vLLM's are recorded."""
