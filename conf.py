"""Sphinx configuration: which parts are used, and how the site looks. How pages run is in npudocs/."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
# Pages import it as users do who have installed it.
sys.path.insert(0, str(Path(__file__).parent / "npu_forward_ad" / "src"))

from npudocs import __version__
from npudocs.execute import scripts

project = "Forward-mode AD on the Ascend NPU"
author = "the npudocs authors"
copyright = f"2026, {author}"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.intersphinx",
    "sphinx_design",
    "sphinx_copybutton",
    "npudocs",
]
# A fence says what it is; nothing is taken for Python by default.
highlight_language = "none"
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# A clone may stand in a folder with a space in its name.
suppress_warnings = ["sphinx_gallery.space_in_filename"]
# Python's own names, in a signature of torch.
nitpick_ignore = [("py:class", f"collections.abc.{name}") for name in ("Callable", "Sequence")]
# The objects of torch that pages link to, NAME ROLE PAGE a line: no network is needed.
intersphinx_mapping = {"torch": ("https://docs.pytorch.org/docs/2.13/", "inventory.txt")}
# How pages and scripts are executed: npudocs/execute/session.py says what each of these is.
execute_state = "npudocs.site.state"
execute_about = "npudocs.site.verifies.about"
execute_say = "npudocs.site.words.say"
execute_tests = ["tests/npu/test_*.py"]
# Scripts that use an API are found by its name as the script writes it.
sphinx_gallery_conf = scripts.configuration(
    doc_module=("torch", "torch_npu"),
    prefer_full_module={"torch"},
    image_scrapers=(
        "npudocs.site.rules.look_at_figures",
        "npudocs.execute.scripts.lay_out",
        "matplotlib",
    ),
)
# One catalog for a folder of pages; code blocks are not in it.
locale_dirs = ["../locales"]
# make linkcheck is for other sites; make links looks at what is inside.
linkcheck_ignore = [r"(?!https?://)"]

# "On this page" has no room for full names.
toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_title = "Forward AD on Ascend"
html_static_path = ["docs/_static"]
html_css_files = ["npudocs.css", "site.css"]
html_favicon = "docs/_static/favicon.svg"
html_math_renderer = "mathml"
# The schemas of the data files.
html_extra_path = ["docs/extra"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": html_title},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navbar_persistent": ["search-button"],
    "navbar_end": ["version-switch", "language-switch", "theme-switcher"],
    "secondary_sidebar_items": ["page-toc", "edit-page"],
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
}
# The color mode follows the reader's system until the reader chooses.
html_context = {"default_mode": "auto"}
# Where the site is published, for social cards and the page for 404. Empty: no social cards.
html_baseurl = os.environ.get("READTHEDOCS_CANONICAL_URL", "")
# The repository, for edit links; docs/contribute.md says how it is written. Empty: no edit links.
npudocs_repository = ""
