"""SMILES, the notation of molecules."""

from __future__ import annotations

from structkit.targets.grammar import Grammar

__all__ = ["smiles"]

_ELEMENTS = (
    "He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr Nb Mo "
    "Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au Hg "
    "Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts Og"
)
_CHARGE = "(?:[+-][1-9]?)?"
_ISOTOPE = "(?:[1-9][0-9]{0,2})?"
_CLASS = "(?::[1-9][0-9]{0,2})?"

_TERMINALS = rf"""
atom: ALIPHATIC | "[" BRACKET
any: ALIPHATIC | AROMATIC | "[" (BRACKET | AROMATIC_BRACKET)
ALIPHATIC: /Cl?|Br?|[NOPSFI]/
AROMATIC: /[bcnops]/
BRACKET: /{_ISOTOPE}(?:(?:{_ELEMENTS.replace(" ", "|")})@{{0,2}}(?:H[1-9]?)?|H){_CHARGE}{_CLASS}\]/
AROMATIC_BRACKET: /{_ISOTOPE}(?:[bcnops]|se|as)(?:H[1-9]?)?{_CHARGE}{_CLASS}\]/
BOND: "-" | "=" | "#" | "/" | "\\"
"""


def smiles(max_open_rings: int = 4) -> Grammar[str]:
    """Return the grammar of SMILES with balanced branches, brackets and rings.

    Each ring that is opened is closed, with at least three atoms, and aromatic atoms are only in rings. The number of
    a ring is the number of rings that are open there, so rings nest: `c1ccc2ccccc2c1` is in the language. No
    context-free grammar pairs rings that cross; a ring that closes inside a branch is not in the language either.
    Valences and the electrons of aromatic rings are not checked. There are no wildcards `*`, no bonds `$` and `:`, and
    no numbers of rings above 9.

    Args:
        max_open_rings: The maximum number of rings that are open at the same time, from 1 to 9.

    Raises:
        ValueError: `max_open_rings` is not between 1 and 9.

    >>> import structkit as sk
    >>> from structkit.testing import ScriptedModel
    >>> sk.extract(ScriptedModel(["CC(=O)Nc1ccc(O)cc1"]), "Paracetamol?", sk.grammars.smiles())
    'CC(=O)Nc1ccc(O)cc1'
    """
    if not 1 <= max_open_rings <= 9:
        raise ValueError(f"max_open_rings must be between 1 and 9, not {max_open_rings}")
    levels = "".join(_level(depth, is_last=depth == max_open_rings) for depth in range(max_open_rings + 1))
    return Grammar(f'start: chain0 ("." chain0)*\n{levels}{_TERMINALS}')


def _level(depth: int, *, is_last: bool) -> str:
    """Return the rules of chains, branches and rings where `depth` rings are open."""
    inner = depth + 1
    ring = "" if is_last else f" | ring{depth}"
    rules = [
        f"chain{depth}: unit{depth} (BOND? unit{depth})*",
        f"unit{depth}: atom branch{depth}*{ring}",
        f'branch{depth}: "(" BOND? chain{depth} ")"',
    ]
    if depth:
        rules.append(f"member{depth}: any branch{depth}*{ring}")
    if not is_last:
        rules.append(
            f'ring{depth}: any "{inner}" branch{inner}* BOND? member{inner} '
            f'(BOND? member{inner})* BOND? any "{inner}" branch{depth}*'
        )
    return "\n".join(rules) + "\n"
