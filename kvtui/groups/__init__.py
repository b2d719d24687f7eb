"""Requests that run as several sequences, and the systems that came before vLLM V1."""

PREEMPT = ("auto", "recompute", "swap")  # what can become of the memory of a preempted group
