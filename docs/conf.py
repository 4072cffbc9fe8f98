"""Sphinx: what the documentation is made of. `make docs` writes it to docs/_build/html."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import generated

import taulong

project = "TauLong"
author = "TauLong authors"
copyright = "TauLong authors, MIT licence"
version = release = taulong.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
exclude_patterns = ["_build", "generated/tables"]
html_theme = "furo"
html_title = f"TauLong {version}"
html_static_path = ["_static"]
html_css_files = ["tables.css"]

# The notebooks are shown as they are committed; nbval is what runs them.
nb_execution_mode = "off"
nb_merge_streams = True
myst_enable_extensions = ["colon_fence", "deflist", "substitution"]
myst_heading_anchors = 4
myst_substitutions = generated.numbers()

# Every name of our own that a docstring refers to must be there; names of other libraries are not looked up.
nitpicky = True
nitpick_ignore_regex = [(r"py:.*", r"(?!taulong\b).*")]
autodoc_default_options = {"members": True, "member-order": "bysource", "no-value": True}
autodoc_typehints = "signature"
autodoc_mock_imports = ["verifiers", "renderers", "inspect_ai", "inspect_evals", "harbor", "mem0"]
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True  # else each attribute of a dataclass would be described twice
suppress_warnings = ["myst.header", "autodoc.mocked_object"]  # headings of notebooks begin where their prose wants


def setup(app):
    """Write the pages and tables that code makes, before Sphinx looks for its sources."""
    generated.write()
