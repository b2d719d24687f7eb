"""Recordings: what a screen showed, step for step, in one file that needs neither trace nor GPU nor server.

A `Recorder` takes frames of any lane, simulated, measured or live, and a `Recording` gives them back.
"""

from kvtui.recording.lane import Past, RecordedLane
from kvtui.recording.reader import Recording, Track
from kvtui.recording.recorder import Recorder

__all__ = ["Past", "RecordedLane", "Recorder", "Recording", "Track"]
