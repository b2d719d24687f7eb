"""Lanes side by side: what they are, the workload they share, their pace, going back and branching."""
