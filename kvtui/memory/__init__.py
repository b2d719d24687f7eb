"""KV memory: managers that say which request has which slots, the block pool, and what of it is cached."""
