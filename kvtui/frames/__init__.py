"""What a lane shows: cameras that take immutable frames, the history behind them, counts and shares."""
