"""Real servers, watched through what they publish.

`fetch` gets pages, `servers` read them into a `Reading`, `watch` makes a `Snapshot` of every reading: rates,
totals over restarts, how old it is. Every number says whether the server reported it, whether it was derived
here, or that nobody knows it. Only GET requests are sent.
"""
