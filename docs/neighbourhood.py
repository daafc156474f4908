"""Draws the picture of the README: python docs/neighbourhood.py."""

from pathlib import Path

import matplotlib as mpl

mpl.use('Agg')
import matplotlib.pyplot as plt

NODE, NEIGHBOUR, EDGE, FAR = '#c8553d', '#2a6f97', '#f2a33a', '#b8bec6'

POSITIONS = {
    'v': (0, 0),
    'a': (-1.15, 0.55), 'b': (-0.35, 1.15), 'c': (0.95, 0.8), 'd': (1.05, -0.6),
    'e': (-0.75, -1.0),
    'p': (-2.05, 1.1), 'q': (2.0, 1.05), 'r': (2.0, -0.95), 's': (-1.85, -1.0),
}  # fmt: skip
TO_NEIGHBOURS = ['va', 'vb', 'vc', 'vd', 've']
AMONG_NEIGHBOURS = ['ab', 'bc', 'cd']
BEYOND = ['ap', 'cq', 'dr', 'es', 'qr']


def main() -> None:
    figure, axes = plt.subplots(figsize=(7.2, 3.4))
    for edges, color, width in (
        (BEYOND, FAR, 1.5),
        (TO_NEIGHBOURS, NEIGHBOUR, 2.5),
        (AMONG_NEIGHBOURS, EDGE, 6),
    ):
        for start, end in edges:
            (x1, y1), (x2, y2) = POSITIONS[start], POSITIONS[end]
            axes.plot([x1, x2], [y1, y2], color=color, linewidth=width, zorder=1)
    for name, (x, y) in POSITIONS.items():
        color = NODE if name == 'v' else NEIGHBOUR if 'v' + name in TO_NEIGHBOURS else FAR
        size = 750 if name == 'v' else 420 if color == NEIGHBOUR else 160
        axes.scatter(x, y, s=size, color=color, edgecolors='white', linewidths=2, zorder=2)
    axes.text(0, 0, '$v$', color='white', fontsize=15, ha='center', va='center_baseline')
    lines = (
        (0.9, NODE, 'a node $v$'),
        (0.3, NEIGHBOUR, 'its neighbours: GIN adds them up'),
        (-0.45, EDGE, 'the edges among them:\nNC-GNN adds these up, too'),
    )
    for height, color, text in lines:
        axes.scatter(2.95, height, s=170, color=color)
        axes.text(3.25, height, text, fontsize=12, va='center')
    axes.set_xlim(-2.3, 6.6)
    axes.set_ylim(-1.45, 1.5)
    axes.set_aspect('equal')
    axes.axis('off')
    figure.savefig(
        Path(__file__).with_name('images') / 'neighbourhood.png', dpi=160, bbox_inches='tight'
    )


if __name__ == '__main__':
    main()
