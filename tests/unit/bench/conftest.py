"""The scripts in bench/ import each other by name."""

import sys

from support.tree import ROOT

# Last, so that `profile` there does not stand before the standard library's.
sys.path.append(str(ROOT / "bench"))
