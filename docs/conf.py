"""The site: sphinx-build -W docs build/docs."""

from graphgym_nc import __version__

project = 'graphgym-nc'
author = 'The graphgym-nc authors'
version = release = __version__

extensions = ['myst_parser', 'sphinx.ext.autodoc', 'sphinx.ext.mathjax', 'sphinx.ext.napoleon']

myst_enable_extensions = ['dollarmath', 'amsmath']
myst_heading_anchors = 3

autodoc_member_order = 'bysource'
autodoc_typehints = 'description'
default_role = 'obj'
napoleon_custom_sections = ['Shapes']

html_theme = 'furo'
html_title = 'graphgym-nc'
