"""Settings of Sphinx for the documentation site, which ``build.py`` beside this file lays out and builds."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from docutils import nodes
from pygments.lexers.special import TextLexer
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

HERE = Path(__file__).parent

project = "streamshift.kafka"
author = "The streamshift.kafka authors"
project_copyright = "2026 The streamshift.kafka authors"
html_title = project

extensions = ["myst_parser", "sphinx_antsibull_ext", "sphinxcontrib.mermaid"]
# A link to a file that is missing is an error (make docs builds with -W); so is one to a heading, by forges' anchors.
nitpicky = True
myst_heading_anchors = 6
myst_fence_as_directive = ["mermaid"]
# The pages that forges show begin with the levels that they need; release notes skip one.
suppress_warnings = ["myst.header"]

# The pages of Ansible's own documentation that antsibull-docs refers to. It is not asked for them while the site is built.
ANSIBLE = "https://docs.ansible.com/ansible/latest/"
ANSIBLE_PAGES = {
    "action_plugins": "plugins/action.html",
    "ansible_collections.ansible.builtin.file_lookup": "collections/ansible/builtin/file_lookup.html",
    "ansible_configuration_settings": "reference_appendices/config.html",
    "common_return_values": "reference_appendices/common_return_values.html",
}

# Figures are drawn while the site is built. Labels are SVG texts, because a browser cuts HTML in other fonts.
mermaid_cmd = shlex.join([sys.executable, "-m", "mermaidx"])
mermaid_params = ["--quiet", "--theme", "neutral", "--config", str(HERE / "mermaid.json")]
mermaid_output_format = "svg"

html_theme = "furo"
html_static_path = [str(HERE / "static")]
html_css_files = ["site.css"]
antsibull_ext_color_scheme = "none"  # site.css takes the theme's colors, light and dark
html_copy_source = False
html_show_sphinx = False
# A summary would be fetched from each page that was found, which browsers forbid for files.
html_show_search_summary = False


def link_to_ansible(
    _app: Sphinx, _env: BuildEnvironment, node: pending_xref, shown: nodes.TextElement
) -> nodes.reference | None:
    """Resolve a reference to a page of Ansible's own documentation."""
    page = ANSIBLE_PAGES.get(node["reftarget"])
    return nodes.reference("", "", shown, refuri=ANSIBLE + page, internal=False) if page else None


def link_to_variables(app: Sphinx, page: str, source: list[str]) -> None:
    """In a forge, the page of a role says how to see its variables; here, it leads to them."""
    if page.endswith("/README") and page.startswith("roles/"):
        role = page.split("/")[1]
        if f"plugins/{role}_role" in app.env.found_docs:  # the shared tasks have no variables for users
            source[0] += f"\n\n## All variables\n\n{{doc}}`Variables of {role} </plugins/{role}_role>`\n"


def setup(app: Sphinx) -> None:
    """Sphinx calls this."""
    app.add_lexer("csv", TextLexer)  # Pygments has none
    app.connect("missing-reference", link_to_ansible)
    app.connect("source-read", link_to_variables)
