"""From frames to lines of text: pure functions, no widget and no terminal in sight."""
