"""What README.md and docs/*.md show: their fenced blocks, and the commands inside them."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = (README, *sorted((ROOT / "docs").glob("*.md")))
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\S*)\n(?P<text>.*?)^(?P=indent)```$", re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"(?<!`)`(vrf [^`]+)`(?!`)")
TARGET = re.compile(r"^([a-z]+):.*##", re.MULTILINE)
SEPARATORS = {"&&", "||", ";", "|"}
REDIRECTS = {">", ">>", "<"}


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: Path
    line: int
    language: str
    text: str

    @property
    def place(self) -> str:
        """The page and line of its first line, as an editor opens it."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def commands(self) -> list[str]:
        """Its lines of shell, those that end in a backslash joined with the next."""
        joined = self.text.replace("\\\n", " ")
        return [line for line in joined.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def find_blocks(page: Path) -> list[Block]:
    """All fenced blocks of a page, from top to bottom."""
    content = page.read_text(encoding="utf-8")
    return [_make_block(page, content, found) for found in FENCE.finditer(content)]


def _make_block(page: Path, content: str, found: re.Match) -> Block:
    text = re.sub(rf"^{found['indent']}", "", found["text"], flags=re.MULTILINE)
    return Block(page, content.count("\n", 0, found.start("text")) + 1, found["language"], text)


def find_spans(page: Path) -> list[str]:
    """Commands that a page names inside its text: `` `vrf build` ``, with line breaks as spaces."""
    prose = FENCE.sub("", page.read_text(encoding="utf-8"))
    return [" ".join(found[1].split()) for found in SPAN.finditer(prose)]


def split_command(line: str) -> Iterator[list[str]]:
    """The simple commands of a line of shell, as words, without assignments, comments and where output goes."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] = []
    redirected = False
    for word in [*lexer, ";"]:
        if word in SEPARATORS:
            if words:
                yield words
            words = []
        elif word in REDIRECTS:
            redirected = True
        elif redirected or (not words and re.match(r"[A-Z_]+=", word)):
            redirected = False
        else:
            words.append(word)


def vrf_arguments(words: list[str]) -> list[str] | None:
    """What the ``vrf`` command gets, also where accelerate launches it; ``None`` for another program."""
    if words[0] == "vrf":
        return words[1:]
    if words[0] == "accelerate" and "recipeflow.cli" in words:
        return words[words.index("recipeflow.cli") + 1 :]
    return None


def make_targets() -> set[str]:
    """The targets that ``make help`` lists."""
    return set(TARGET.findall((ROOT / "Makefile").read_text(encoding="utf-8")))
