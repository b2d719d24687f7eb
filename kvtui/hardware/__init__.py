"""Models and GPUs as facts: the catalogue, `config.json` files, bytes of K and V, the size of the KV pool."""
