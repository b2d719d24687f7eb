"""Requests as they can be told from KV events of vLLM, which name none: whose blocks hang on which.

`blocks` knows what is cached and on what it hangs; `requests` tells who stored it; `rows` says what follows
of a request's arrival and lengths, with bounds; `source` listens and writes the trace.
"""
