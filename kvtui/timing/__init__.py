"""How long steps take: kernels on a GPU, what was fitted to measurements, and the error that is left."""
