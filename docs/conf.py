"""Sphinx configuration."""

import sys
from pathlib import Path

from matassay import __version__

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "MatAssay"
author = "MatAssay contributors"
copyright = author
release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "registry_pages"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "_ext"]

autodoc_member_order = "bysource"
autodoc_typehints = "description"
napoleon_google_docstring = False

html_theme = "furo"
html_title = "MatAssay"
