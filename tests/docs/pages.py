"""The pages of the documentation, and their blocks of code."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / 'docs'
PAGES = [ROOT / name for name in ('README.md', 'CONTRIBUTING.md', 'RESULTS.md')]
PAGES += sorted(DOCS.glob('*.md'))

_BLOCK = re.compile(r'^```(\w+)\n(.*?)^```$', re.MULTILINE | re.DOTALL)
_FILE = re.compile(r'# (\w+\.(?:py|yaml))\n')


@dataclass(frozen=True)
class Block:
    """A block of code.

    Attributes:
        language: What follows the three backquotes.
        text: The code.
        file: The name in its first line, as in `# my_module.py`, if there is one.
    """

    language: str
    text: str

    @property
    def file(self) -> str | None:
        match = _FILE.match(self.text)
        return match and match[1]


def blocks(page: Path, *languages: str) -> list[Block]:
    found = [Block(*match.groups()) for match in _BLOCK.finditer(page.read_text())]
    return [block for block in found if block.language in languages]


def pages_with(*languages: str) -> list[Path]:
    return [page for page in PAGES if blocks(page, *languages)]
