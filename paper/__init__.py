"""The paper's experiments, on monolip's public API alone. Not part of the wheel; `python paper/run.py --list`."""
