"""Real traffic as a trace: a pass-through in front of an OpenAI-compatible server that writes down how long
prompts and answers are, when they come, and which of them begin alike. No text is kept.

Bytes go from one of two `connections` to the other through `requests` and `passing`, which know no network;
`notes` are taken beside, with `answers` and `identity`, for the `tracefile`. `otlp` lets a server tell of its
requests itself.
"""
