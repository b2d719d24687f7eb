"""The tour: short scenes, each a real run that stops at the step that shows something."""
