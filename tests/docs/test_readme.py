"""Types the README from top to bottom in an empty folder, in real processes: bash for shell, Python for snippets.

Nothing of it may be left out: a block or a command that this module does not know how to run fails.
Each Python block gets a process of its own, so no block can lean on a variable of another one.
"""

import os
import re
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path

import pytest

from recipeflow.kitchen import cook_release
from recipeflow.kitchen.cooking import CookedRecipe
from recipeflow.release import read_frames, read_release
from tests.docs.documents import README, ROOT, Block, find_blocks, make_targets, split_command, vrf_arguments
from tests.download.filming import make_video
from tests.download.site.server import Site
from tests.hub.repositories import User
from tests.hub.server import HubServer

TOKEN = "hf_theReadersOwnToken"
MADE = [
    "pairs.png",
    "cabbage.jpg",
    "found.png",
    "annotations.db",
    "site/index.html",
    "mine/annotations.json",
    "mine-vrf/README.md",
    "own/recipes/recipe/frames/frame_4.jpg",
    "own-vrf/README.md",
    "official/recipes",
    "my-model/model.safetensors",
    "run/model/index/index.json",
    "run/model/calibration.json",
    "board/index.html",
    "tuned/model/model.safetensors",
    "two/model/model.safetensors",
    "parsed/annotations.json",
    "experiment/report.html",
    "best/results.json",
    "model/config.json",
]
"""What has to be there in the end."""

OWN_RECIPE = "Boiled eggs\n\nIngredients\n2 eggs\n\nMethod\n1. Boil the eggs.\n2. Peel them.\n"
"""The reader's own, as the README asks for."""


def substitutions(site: str, release: Path) -> dict[str, str]:
    """What is typed otherwise than it is printed: as little as a small, shared machine without a network allows."""
    return {
        # Cooking, features and training take time for each recipe; with 11, fold 0 has the two to calibrate on.
        "--recipes 200 ": "--recipes 11 ",
        "--recipes 20 ": "--recipes 2 ",  # likewise, and these are whole films
        "--epochs 5 ": "--epochs 1 ",  # fine-tuning sends all pixels through the backbone in each epoch
        "vrf experiment vrf ": "vrf experiment vrf --folds 0 --workers 1 ",  # one fold of ten
        "vrf annotate films ": "vrf annotate films --port 0 ",  # another program may have the default port
        "vrf annotate own ": "vrf annotate own --port 0 ",
        "accelerate launch ": "accelerate launch --main_process_port 0 ",  # likewise
        # The stand-in site has its own recipes, and needs no pause between requests.
        "vrf download official ": f"vrf download official --annotations {release} --site {site} --pause 0 ",
        "OWNER=your-name": "OWNER=lab",  # as the README says
    }


SERVERS = {"annotate", "explore"}
"""Commands that run until Ctrl-C."""


def kind_of(command: str) -> str:
    """How a command is run: ``make`` is looked up, ``server`` is asked and stopped, ``shell`` just runs."""
    for words in split_command(command):
        arguments = vrf_arguments(words)
        if words[0] == "make":
            return "make"
        if arguments is None:
            raise ValueError(f"expected a command that this test knows how to run, found {command!r}")
        if arguments[0] in SERVERS and "--export" not in arguments:
            return "server"
    return "shell"


class Typist:
    """Types blocks in a folder, and remembers which substitutions it made."""

    def __init__(self, folder: Path, environment: dict[str, str], replacements: dict[str, str]):
        self.folder, self.environment, self.replacements = folder, environment, replacements
        self.replaced: set[str] = set()

    def type(self, block: Block) -> None:
        if block.language == "python":
            self.run(block.place, sys.executable, "-c", block.text)
            return
        commands = [self.replace(command) for command in block.commands]
        for kind, group in groupby(commands, kind_of):
            if kind == "make":
                assert {target for line in group for target in next(split_command(line))[1:]} <= make_targets()
            elif kind == "server":
                (command,) = group
                assert command == commands[-1], f"{block.place}: Ctrl-C would swallow what is pasted after a server"
                self.serve(block.place, command)
            else:
                self.run(block.place, "bash", "-e", "-c", "\n".join(group))

    def replace(self, command: str) -> str:
        for old, new in self.replacements.items():
            if old in command:
                self.replaced.add(old)
                command = command.replace(old, new)
        return command

    @contextmanager
    def start(self, *command: str) -> Iterator[subprocess.Popen]:
        """A process in a group of its own, of which nothing is left running."""
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        options = {"cwd": self.folder, "env": self.environment, "text": True, "start_new_session": True}
        with subprocess.Popen(command, **streams, **options) as process:
            alarm = threading.Timer(1200, kill_group, [process])
            alarm.start()
            try:
                yield process
            finally:
                alarm.cancel()
                kill_group(process)

    def run(self, place: str, *command: str) -> None:
        with self.start(*command) as process:
            printed, _ = process.communicate()
        assert process.returncode == 0, f"{place}: exit code {process.returncode} of\n{command[-1]}\n{printed}"
        assert "Traceback" not in printed, f"{place}: {printed}"

    def serve(self, place: str, command: str) -> None:
        """Start a server, open the page at the address that it prints, and stop it with Ctrl-C."""
        with self.start("bash", "-e", "-c", f"exec {command}") as process:
            printed = []
            for line in process.stdout:
                printed.append(line)
                if found := re.search(r"http://127\.0\.0\.1:\d+/\S*", line):
                    break
            else:
                pytest.fail(f"{place}: no address was printed by {command}: {''.join(printed)}")
            with urllib.request.urlopen(found[0], timeout=200) as answer:
                assert b"<!doctype html>" in answer.read().lower()
            os.killpg(process.pid, signal.SIGINT)
            rest, _ = process.communicate(timeout=200)
        assert "Traceback" not in rest
        assert process.returncode in (0, 130), f"{place}: {rest}"


def kill_group(process: subprocess.Popen) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture
def site(tmp_path) -> Iterator[tuple[str, Path]]:
    """A recipe web site with two recipes, and the annotations of these."""
    release = tmp_path / "published"
    cook_release(release, 2, seed=3, used_only=True, workers=1)
    with Site() as site:
        for recipe in read_release(release):
            site.publish(CookedRecipe(recipe, read_frames(recipe)[0], {}))
        yield site.url, release


@pytest.fixture
def hub() -> Iterator[HubServer]:
    with HubServer() as server:
        server.state.users = {TOKEN: User("lab")}
        yield server


def newcomer(hub: HubServer, folder: Path) -> dict[str, str]:
    """The environment of somebody with ``vrf`` on the path and nothing else: no caches, an own Hub, no browser."""
    environment = hub.environment(folder, TOKEN)
    del environment["PYTHONPATH"]  # the project is installed
    commands = Path(sys.executable).parent
    assert (commands / "vrf").exists(), f"expected the vrf command in {commands}, found none; run `make setup`"
    return environment | {
        "PATH": f"{commands}{os.pathsep}{environment['PATH']}",
        "HOME": str(folder),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "LANG": "C.UTF-8",
        "BROWSER": "true",
        "PYTHONUNBUFFERED": "1",
    }


@pytest.mark.slow
def test_the_readme_works_when_it_is_typed_from_top_to_bottom(tmp_path, hub, site):
    folder = tmp_path / "empty"
    folder.mkdir()
    replacements = substitutions(*site)
    (folder / "recipe.txt").write_text(OWN_RECIPE, encoding="utf-8")
    make_video(folder / "film.mp4", 40)
    typist = Typist(folder, newcomer(hub, tmp_path / "home"), replacements)
    for block in find_blocks(README):
        if block.language in ("sh", "python"):
            typist.type(block)
    typist.run("examples/first_look.py", sys.executable, str(ROOT / "examples" / "first_look.py"))  # as make demo does
    assert typist.replaced == set(replacements), "a substitution is not needed any more"
    assert [name for name in MADE if not (folder / name).exists()] == []
    assert hub.state.repositories.keys() == {("dataset", "lab/salads"), ("model", "lab/after-cooking")}


def test_every_command_of_the_readme_is_known():
    """In a second, what the long test would meet after minutes."""
    blocks = [block for block in find_blocks(README) if block.language == "sh"]
    assert len(blocks) > 10
    for block in blocks:
        for command in block.commands:
            kind_of(command)


@pytest.mark.parametrize("command", ["pip install vrf", "vrf check kitchen && ./run.sh", "wget a | vrf check b"])
def test_commands_that_it_cannot_run_fail(command):
    with pytest.raises(ValueError, match="knows how to run"):
        kind_of(command)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("vrf check nowhere\n", r"README.md:7: exit code 1 of\s+vrf check nowhere"),
        ("vrf explore kitchen\nvrf check kitchen\n", "README.md:7: Ctrl-C would swallow what is pasted after"),
        ("make demo dinner\n", "dinner"),
    ],
)
def test_blocks_that_do_not_work_are_found(text, found, hub, tmp_path):
    typist = Typist(tmp_path, newcomer(hub, tmp_path / "home"), {})
    with pytest.raises(AssertionError, match=found):
        typist.type(Block(README, 7, "sh", text))
