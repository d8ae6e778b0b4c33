"""Sphinx configuration: which parts are used, and how the site looks. How pages run is in npudocs/."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from npudocs import gallery

project = "Forward-mode AD on the Ascend NPU"
author = "the npudocs authors"
copyright = f"2026, {author}"

extensions = ["myst_parser", "sphinx_design", "sphinx_copybutton", "npudocs"]
# A fence says what it is; nothing is taken for Python by default.
highlight_language = "none"
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# A clone may stand in a folder with a space in its name.
suppress_warnings = ["sphinx_gallery.space_in_filename"]
npudocs_inventories = {"torch": ("https://docs.pytorch.org/docs/2.13/", "inventory.txt")}
sphinx_gallery_conf = gallery.configuration()

# "On this page" has no room for full names.
toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_title = "Forward AD on Ascend"
html_static_path = ["docs/_static"]
html_css_files = ["npudocs.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
# A page that stands alone has no section to navigate.
html_sidebars = {"*": []}
html_theme_options = {
    "logo": {"text": html_title},
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
}
