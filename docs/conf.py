"""How the documentation is built: ``make docs`` writes it to build/docs, and loads nothing from a network."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

from gapmin import __version__  # noqa: E402

project = "gapmin"
author = "The gapmin developers"
copyright = "The gapmin developers"
version = release = __version__
language = "en"

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "drawn_graphs",
    "example_report",
    "math_as_mathml",
    "outside_pages",
    "reference_pages",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_ext", "gallery/**/*.ipynb", "gallery/**/*.py", "gallery/**/*.zip", "paper/*.py"]
nitpicky = True
suppress_warnings = ["myst.header"]  # the pages of results begin with a heading of the second level
highlight_language = "text"  # a block that names no language: commands, or what they print
default_role = "code"  # one pair of backticks in a docstring is code, as in Markdown
add_module_names = False
toc_object_entries = False

myst_enable_extensions = ["attrs_block", "colon_fence", "deflist"]
myst_heading_anchors = 4
myst_fence_as_directive = ["mermaid"]

autodoc_typehints = "none"  # the docstrings say what a parameter may be
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # reference_pages writes them, with what a class inherits from gapmin

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "gapmin"
html_static_path = ["_static"]
html_css_files = ["gapmin.css"]
html_js_files = ["gapmin.js"]
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = False  # it fetches the pages found, which a browser refuses for a site opened from a folder
html_sidebars = {"concepts": []}  # it has no pages below it
html_theme_options = {
    "icon_links": [],
    "navbar_end": ["theme-switcher", "navbar-icon-links"],
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": False,
}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "gallery_order.InOrder",
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "abort_on_example_error": True,
    "reset_modules": ("matplotlib",),
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
    "write_computation_times": False,  # its page loads scripts from other hosts
    "plot_gallery": "True",
}
