"""Sphinx: how the pages that pages.py made become the site. Read first: pages.py."""
import os

from pygments.lexers.c_cpp import CLexer
from sphinx.highlighting import lexers

project = "Clump"
html_title = "Clump"
extensions = ["myst_parser", "breathe"]
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_show_copyright = False

# The slugs of headings are those of GitHub, so that links to headings are the same there.
myst_heading_anchors = 6
myst_enable_extensions = ["deflist"]

breathe_projects = {"clump": os.environ["CLUMP_DOCS_XML"]}
breathe_default_project = "clump"
breathe_domain_by_extension = {"h": "c"}
breathe_show_include = False

# Pygments has no OpenCL C, and schemas look like C.
lexers["opencl"] = CLexer()
lexers["schema"] = CLexer()
