"""How Sphinx builds the site (`make docs`). No page asks an outside host for anything: formulas are MathML, fonts and
scripts are the theme's own, the search is Sphinx's."""

import headstart

project = "headstart"
author = "the authors of headstart"
copyright = f"2026, {author}"
version = release = headstart.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "tools.site.mathml"]
exclude_patterns = [".doctrees"]
myst_enable_extensions = ["dollarmath", "deflist", "attrs_inline"]
myst_dmath_allow_digits = False  # $1,794 is money
myst_dmath_allow_space = False
myst_heading_anchors = 3
suppress_warnings = ["myst.header", "misc.highlighting_failure"]

default_role = "literal"  # `name` in a docstring
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints = "none"  # the sections say in words what a parameter is
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
add_module_names = False

html_theme = "pydata_sphinx_theme"
html_math_renderer = "mathml"
html_title = "headstart"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_copyright = False
html_sidebars = {name: [] for name in ("index", "search", "reliability", "glossary")}  # they have no sections
html_theme_options = {
    "logo": {"text": "headstart"},
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 6,
    "footer_start": ["sphinx-version"],
    "footer_end": ["theme-version"],
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def shorten_signature(app, what, name, obj, options, signature, return_annotation):
    """Options within options stand by their name alone, and a contract, which nobody calls, has no parameters."""
    if signature is None:
        return None
    shorter, hidden = "", 0  # parentheses open within a call that is not shown
    for i, letter in enumerate(signature[1:-1]):
        hidden += letter == "(" and (hidden > 0 or signature[i].isalnum())
        hidden -= letter == ")" and hidden > 0
        shorter += "" if hidden else "()" if letter == ")" and not shorter.count("(") > shorter.count(")") else letter
    is_contract = what == "class" and getattr(obj, "_is_protocol", False)
    return ("" if is_contract else f"({shorter})"), return_annotation


def skip_fields(app, what, name, obj, skip, options):
    """The fields of a tuple say nothing of themselves: its docstring does."""
    return True if str(getattr(obj, "__doc__", "")).startswith("Alias for field number") else None


def setup(app):
    """What Sphinx asks of this file."""
    app.connect("autodoc-skip-member", skip_fields)
    app.connect("autodoc-process-signature", shorten_signature)
