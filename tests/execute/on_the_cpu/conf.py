"""A project of somebody else: its device is this machine's processor, its state an environment variable."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from cpu import Processor

from npudocs.execute import scripts

project = "Sums"
extensions = ["myst_parser", "npudocs.execute"]
html_theme = "basic"
execute_device = Processor()
execute_state = "cpu"
execute_tests = ["tests/test_*.py"]
sphinx_gallery_conf = scripts.configuration()
