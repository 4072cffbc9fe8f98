"""A Harbor environment without docker or root: the task's files in a plain folder, commands in namespaces around it.

For tests and for trying tasks where no container runs. It is **no isolation** and no image: the machine's own ``/usr``
and ``/etc`` stand in, read only, for whatever the Dockerfile starts from; everything else of the task is in a folder
that goes away at the end. RUN, COPY, WORKDIR and ENV of the Dockerfile are carried out; installations are left out,
and named in the trial's log. Processes end with the command that started them.
"""

import asyncio
import importlib.metadata
import os
import shlex
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities
from harbor.models.task.config import NetworkMode
from packaging.requirements import Requirement

from taulong.errors import DataError

SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "etc")
INSTALLS = ("apt-get", "apt ", "apk ", "pip install", "pip3 install", "npm install", "curl ", "wget ")
PACKAGES = "/opt/python-packages"
OFFLINE = {"PIP_NO_INDEX": "1", "PIP_RETRIES": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
"""Tests that install what they need give up at once, and find what is provided."""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class FolderEnvironment(BaseEnvironment):
    """See the module. ``packages``: Python packages of this installation, pure Python, that the task's Python finds."""

    def __init__(self, *args, packages: Iterable[str] = ("pytest",), **kwargs):
        self.packages = tuple(packages)
        self.folder: Path | None = None
        self.workdir = "/"
        self.variables = {"PATH": PATH, "HOME": "/root", "LANG": "C.UTF-8", "PYTHONPATH": PACKAGES, **OFFLINE}
        super().__init__(*args, **kwargs)

    @staticmethod
    def type() -> str:
        """The name in results, so that nobody takes them for those of containers."""
        return "folder-no-isolation"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        """It can leave out the network, and change that between commands."""
        return EnvironmentCapabilities(disable_internet=True, dynamic_network_policy=True)

    def _validate_definition(self):
        if not (self.environment_dir / "Dockerfile").is_file():
            raise FileNotFoundError(f"{self.environment_dir / 'Dockerfile'}: no Dockerfile")

    async def _apply_network_policy(self, network_policy) -> None:
        pass  # each command reads the policy in force

    @property
    def root(self) -> Path:
        """The folder that is the environment's ``/``."""
        if self.folder is None:
            raise RuntimeError("the environment has not been started")
        return self.folder

    def place(self, path: str) -> Path:
        """Return where a path of the environment is on this machine; raises DataError where it leads outside."""
        inside = self.root / os.path.normpath("/" + path).lstrip("/")
        if not inside.parent.resolve().is_relative_to(self.root.resolve()):
            raise DataError(f"{path}: leads out of the environment")
        return inside

    async def start(self, force_build: bool) -> None:
        """Make the folder and carry out the Dockerfile."""
        self.folder = Path(tempfile.mkdtemp(prefix="folder-environment-"))
        for name in ("root", "tmp", "var/tmp", "opt", "srv", "home", "logs/agent", "logs/verifier", "logs/artifacts"):
            (self.root / name).mkdir(parents=True)
        for name in SYSTEM:
            if os.path.islink(f"/{name}"):
                (self.root / name).symlink_to(os.readlink(f"/{name}"))
        _provide(self.packages, self.root / PACKAGES.lstrip("/"))
        for number, (word, rest) in enumerate(instructions(self.environment_dir / "Dockerfile"), 1):
            await self._carry_out(number, word, rest)

    async def _carry_out(self, number: int, word: str, rest: str) -> None:
        if word == "RUN":
            if any(sign in rest for sign in INSTALLS):
                self.logger.warning(f"left out of the Dockerfile: RUN {rest}")
                return
            done = await self.exec(rest)
            if done.return_code:
                raise DataError(f"Dockerfile, instruction {number}: RUN {rest}: {done.stderr or done.stdout}")
        elif word == "COPY":
            *sources, target = [item for item in shlex.split(rest) if not item.startswith("--")]
            for source in sources:
                self._copy(source, target, len(sources) > 1)
        elif word == "WORKDIR":
            self.workdir = os.path.join(self.workdir, rest)
            self.place(self.workdir).mkdir(parents=True, exist_ok=True)
        elif word == "ENV":
            pairs = shlex.split(rest)
            if "=" not in pairs[0]:
                pairs = [f"{pairs[0]}={' '.join(pairs[1:])}"]
            self.variables |= dict(pair.split("=", 1) for pair in pairs)
        elif word not in ("FROM", "CMD", "ENTRYPOINT", "EXPOSE", "LABEL", "ARG", "SHELL"):
            raise DataError(f"Dockerfile, instruction {number}: {word} is not known to an environment without docker")

    def _copy(self, source: str, target: str, several: bool) -> None:
        found = sorted(self.environment_dir.glob(source)) if source != "." else [self.environment_dir]
        if not found:
            raise DataError(f"Dockerfile: COPY {source}: there is no such file beside it")
        place = self.place(os.path.join(self.workdir, target))
        for path in found:
            if path.is_dir():
                shutil.copytree(path, place, dirs_exist_ok=True)
            else:
                into = (
                    place / path.name if several or len(found) > 1 or target.endswith("/") or place.is_dir() else place
                )
                into.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, into)

    async def stop(self, delete: bool):
        """Remove the folder."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder = None

    async def upload_file(self, source_path: Path | str, target_path: str):
        """Copy a file in."""
        place = self.place(target_path)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source_path, place)

    async def upload_dir(self, source_dir: Path | str, target_dir: str):
        """Copy a folder in."""
        shutil.copytree(source_dir, self.place(target_dir), dirs_exist_ok=True)

    async def download_file(self, source_path: str, target_path: Path | str):
        """Copy a file out."""
        shutil.copy(self.place(source_path), target_path)

    async def download_dir(self, source_dir: str, target_dir: Path | str):
        """Copy a folder out; links stay links."""
        shutil.copytree(self.place(source_dir), target_dir, dirs_exist_ok=True, symlinks=True)

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        """Run a command in the folder; there is one user, who passes for root. All of it ends at the timeout."""
        network = ["--net"] if self._network_policy.network_mode == NetworkMode.NO_NETWORK else []
        process = await asyncio.create_subprocess_exec(
            "unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child", *network,
            "sh", "-c", _entrance(self.root, cwd or self.workdir), "sh", command,
            env=self.variables | (self._merge_env(env) or {}),
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip
        try:
            out, err = await asyncio.wait_for(process.communicate(), timeout_sec)
        except TimeoutError:
            return ExecResult(stderr=f"ended after {timeout_sec} seconds", return_code=124)
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        texts = (text.decode("utf-8", "replace") for text in (out, err))
        return ExecResult(**dict(zip(("stdout", "stderr"), texts, strict=True)), return_code=process.returncode or 0)


def _entrance(root: Path, workdir: str) -> str:
    """Return the script that brings ``$1`` into the folder: the system's folders read only, and nothing else of it."""
    place = shlex.quote(str(root))
    lines = ["set -e"]
    for name in SYSTEM:
        if os.path.isdir(f"/{name}") and not os.path.islink(f"/{name}"):
            target = f"{place}/{name}"
            lines += [f"mkdir -p {target}", f"mount --rbind /{name} {target}", f"mount -o remount,bind,ro {target}"]
    lines += [
        f"mkdir -p {place}/dev {place}/proc",
        f"mount --rbind /dev {place}/dev",
        f"mount -t proc proc {place}/proc 2>/dev/null || mount --rbind /proc {place}/proc",
        f'exec chroot {place} /bin/bash -c \'cd "$1" && shift && eval "$1"\' bash {shlex.quote(workdir)} "$1"',
    ]
    return "\n".join(lines)


def instructions(dockerfile: Path) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile as (word, rest); lines that go on are one, comments are left out."""
    lines = [line for line in dockerfile.read_text(encoding="utf-8").splitlines() if not line.lstrip().startswith("#")]
    whole = "\n".join(lines).replace("\\\n", " ")
    words = (line.strip().split(None, 1) for line in whole.splitlines() if line.strip())
    return [(word[0].upper(), word[1].strip() if len(word) > 1 else "") for word in words]


def _provide(packages: Iterable[str], folder: Path) -> None:
    """Copy Python packages, and what they need, from this installation into a folder."""
    todo, done = list(packages), set()
    while todo:
        name = todo.pop()
        if name in done:
            continue
        done.add(name)
        distribution = importlib.metadata.distribution(name)
        for file in distribution.files or ():
            source = Path(str(distribution.locate_file(file)))
            if ".." not in file.parts and "__pycache__" not in file.parts and source.is_file():
                target = folder / file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)
        for text in distribution.requires or ():
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": "", "sys_platform": sys.platform}):
                todo.append(needed.name)
