"""Real traffic as a trace: a pass-through in front of an OpenAI-compatible server that writes down how long
prompts and answers are, when they come, and which of them begin alike. No text is kept.

`identity`, `answers` and `tracefile` know no network; `proxy` passes on (aiohttp, extra `attach`).
"""
