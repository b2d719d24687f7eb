"""What if, beside servers that run: simulated lanes that get the same requests at the same times.

How long an answer is, is known when it has ended. So a simulated lane stands where the oldest request came
that still has no end, and is that far behind the server.
"""
