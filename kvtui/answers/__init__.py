"""What a run says: the report and its tables, capacity, block sizes, hit rates, advice, a verdict."""
