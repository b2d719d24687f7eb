"""Requests that run as several sequences, and the systems that came before vLLM V1."""
