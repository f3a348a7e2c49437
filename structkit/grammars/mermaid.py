"""Flow charts of Mermaid."""

from __future__ import annotations

from structkit.grammars.text import words_except
from structkit.targets.grammar import Grammar

__all__ = ["mermaid_flowchart"]

_KEYWORDS = "call class classDef click default direction end flowchart graph href linkStyle style subgraph"

_GRAMMAR = rf"""
start: "flowchart " DIRECTION "\n" line+
line: "    " (chain | "subgraph " name ("[" LABEL "]")? "\n" line+ "    end") "\n"
chain: node (edge node)*
edge: ARROW ("|" LABEL "|")? " "
node: name shape?
shape: "[" LABEL "]" | "(" LABEL ")" | "([" LABEL "])" | "[[" LABEL "]]" | "[(" LABEL ")]" | "((" LABEL "))"
    | "{{" LABEL "}}" | "{{{{" LABEL "}}}}" | "[/" LABEL "/]" | ">" LABEL "]"
name: NAME
DIRECTION: "TD" | "TB" | "BT" | "LR" | "RL"
ARROW: " -->" | " ---" | " -.->" | " ==>" | " --x" | " --o"
NAME: /{words_except(_KEYWORDS.split())}/
LABEL: /"(?:[^"`\\%\x00-\x1f\x7f]|%(?!%\{{))+(?<!=)"/
"""
# Mermaid changes a text before it reads labels: it removes a directive, from `%%{` on, also inside a label, and takes
# `="` behind a `<` for an attribute of HTML.


def mermaid_flowchart() -> Grammar[str]:
    """Return the grammar of flow charts of Mermaid: nodes, edges with labels, and subgraphs.

    Each statement has a line of its own behind four spaces. All labels have double quotes, so that nearly any text
    can be in them, but not `%%{`, which starts a directive, and no `=` at the end. Names are ASCII and no keywords of
    Mermaid. Styles, classes and links are not in the language. A node need not be defined before it is used, as in
    Mermaid.

    >>> import structkit as sk
    >>> from structkit.testing import ScriptedModel
    >>> chart = 'flowchart TD' + chr(10) + '    A["Ready?"] -->|"yes"| B' + chr(10)
    >>> print(sk.extract(ScriptedModel([chart]), "Draw it.", sk.grammars.mermaid_flowchart()))
    flowchart TD
        A["Ready?"] -->|"yes"| B
    <BLANKLINE>
    """
    return Grammar(_GRAMMAR)
