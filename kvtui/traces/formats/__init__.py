"""The formats of request traces: each module is a `Loader`."""
