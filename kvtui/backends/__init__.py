"""Real devices: tensors in which steps are carried out, the kernels that read them, and their clock."""
