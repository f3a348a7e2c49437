"""A recursive type, on a model without weights.

Prints:

    20 trees, up to 10 deep
"""

from __future__ import annotations

from pydantic import BaseModel

import structkit as sk


class Tree(BaseModel):
    value: int
    children: list[Tree]


def depth(tree: Tree) -> int:
    return 1 + max(map(depth, tree.children), default=0)


if __name__ == "__main__":
    model = sk.testing.RandomModel(seed=0)
    trees = [sk.extract(model, "A tree.", Tree, temperature=1.0, max_tokens=300, seed=n) for n in range(20)]
    print(f"{len(trees)} trees, up to {max(map(depth, trees))} deep")
