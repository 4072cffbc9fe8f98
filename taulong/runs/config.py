"""What is run: the configuration, checked when it is built, and the identity that a run folder has from it."""

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from taulong import __version__
from taulong.cases.record import SIDES
from taulong.errors import ConfigError, check_integer, check_name
from taulong.runs.folder import FORMAT
from taulong.runs.units import Unit
from taulong.shifts.files import read_manifest, shift_paths
from taulong.shifts.stream import Shift

if TYPE_CHECKING:
    from taulong.cases.models import Model

TRANSPORT = (
    "timeout",
    "deadline",
)  # arguments of a model that change nothing it is asked, so that a resumed run may change them


@dataclass(frozen=True)
class RunConfig:
    """What is run; with the shifts' digest and the versions it is the identity of a run folder.

    Attributes:
        shifts: name below data/shifts, or path, of the set of shifts.
        agents: agents on board, in the order of the result files; ``llm`` is the model of ``agent_llm``.
        memory_modes: memory modes, likewise, see :func:`taulong.memory.names.check_memory`. ``frozen(MODE)`` is a second
            pass after the shift over testing cases with other customers, the memory read-only: it needs the mode too.
            ``frozen`` is that of ``notebook``; ``frozen_same`` meets the same customers again.
        trials: times each shift is run by the same agent in the same mode, with other draws.
        agent_llm: the model behind the agent ``llm``, as LiteLLM names it.
        agent_llm_args: arguments of its calls, e.g. ``base_url``, ``temperature``; keys come from the environment.
        user: ``scripted`` or ``llm``.
        user_llm, user_llm_args: likewise of the customer.
        log_prompts: put the models' prompts into the transcripts, not only their digests.
        memory_args: options of memory systems, by mode.
        memory_llm, memory_llm_args: the model that memories ask, likewise (default: the agent's own).

    Raises:
        ConfigError: naming the field, the value, the accepted ones and the near match.
    """

    shifts: str
    agents: tuple[str, ...] = ("learner",)
    memory_modes: tuple[str, ...] = ("none", "notebook", "oracle")
    trials: int = 1
    agent_llm: str | None = None
    agent_llm_args: dict = field(default_factory=dict)
    user: str = "scripted"
    user_llm: str | None = None
    user_llm_args: dict = field(default_factory=dict)
    log_prompts: bool = False
    memory_args: dict = field(default_factory=dict)
    memory_llm: str | None = None
    memory_llm_args: dict = field(default_factory=dict)

    def __post_init__(self):
        from taulong.cases.agents import AGENTS, check_agent
        from taulong.keys import refuse_keys
        from taulong.memory.names import MEMORY_MODES, check_memory, check_options, second_pass

        refuse_keys("config", asdict(self))
        checks = {
            "agents": (check_agent, AGENTS),
            "memory_modes": (check_memory, MEMORY_MODES),
        }
        for name, (check, known) in checks.items():
            values = getattr(self, name)
            if isinstance(values, str) or not values:
                raise ConfigError(f"{name}: {values!r} is not a list of names; accepted: {', '.join(known)}")
            object.__setattr__(self, name, tuple(map(check, values)))
            if len(set(values)) < len(values):
                raise ConfigError(f"{name}: {list(values)} names one twice")
        for mode in self.memory_modes:
            if (followed := second_pass(mode)) and followed[1] not in self.memory_modes:
                raise ConfigError(
                    f"memory_modes: {mode!r} is a second pass with what {followed[1]!r} has kept and needs {followed[1]!r} too"
                )
        object.__setattr__(self, "memory_args", check_options(self.memory_args, self.memory_modes))
        check_integer("trials", self.trials, 1)
        check_name("user", self.user, ("scripted", "llm"))
        named = bool(self.memory_llm)
        for side, wanted in (("agent", "llm" in self.agents), ("user", self.user == "llm"), ("memory", named)):
            given = getattr(self, f"{side}_llm") or getattr(self, f"{side}_llm_args")
            if bool(given) != wanted:
                remedy = (
                    f"name its model, e.g. {side}_llm openai/gpt-4.1"
                    if wanted
                    else f"the {side} is no llm; leave it out"
                )
                raise ConfigError(f"{side}_llm: {getattr(self, f'{side}_llm')!r}; {remedy}")
            self.side(side)

    def side(self, side: str) -> "Model | None":
        """Return the model of a side (``agent``, ``user``, ``memory``), or None where no model is named for it."""
        from taulong.cases.models import Model

        played = {"agent": "llm" in self.agents, "user": self.user == "llm", "memory": bool(self.memory_llm)}[side]
        return Model(getattr(self, f"{side}_llm"), getattr(self, f"{side}_llm_args")) if played else None

    @property
    def passes(self) -> dict[str, tuple[str, ...]]:
        """The memory modes of a first pass, each with the second passes that follow it."""
        from taulong.memory.names import second_pass

        following = {mode: second_pass(mode) for mode in self.memory_modes}
        return {
            first: tuple(mode for mode, followed in following.items() if followed and followed[1] == first)
            for first in self.memory_modes
            if not following[first]
        }

    def units(self, shifts: list[Shift]) -> list["Unit"]:
        """Return the units of work over some shifts, in the order of the result files."""
        agents = [(agent == "llm" and self.side("agent")) or agent for agent in self.agents]
        user = self.side("user") or "scripted"
        passes = self.passes
        return [
            Unit(
                shift,
                mode,
                agent,
                trial,
                user,
                self.log_prompts,
                passes[mode],
                self.memory_args.get(mode, {}),
                self.side("memory"),
            )
            for agent in agents
            for mode in passes
            for shift in shifts
            for trial in range(self.trials)
        ]


def run_manifest(config: RunConfig) -> dict:
    """Return the identity of a run of a config with what is installed; what its folder's ``manifest.json`` holds."""
    from taulong.backend import installation
    from taulong.cases.agents import agent_sources
    from taulong.graders.verdicts import GRADER_VERSION
    from taulong.memory.names import memory_sources

    shifts = read_manifest(config.shifts)
    tau2 = installation()
    whole = len(config.passes) * shifts["config"].num_cases
    second = (len(config.memory_modes) - len(config.passes)) * shifts["config"].counts["testing"]
    cases = shifts["num_shifts"] * config.trials * len(config.agents) * (whole + second)
    own, memories = agent_sources(config.agents), memory_sources(config.memory_modes)
    models: dict[str, object] = {}
    for side in SIDES:
        if model := config.side(side):
            arguments = {name: value for name, value in model.arguments.items() if name not in TRANSPORT}
            models |= {f"{side}_llm": model.name, f"{side}_llm_args": arguments}
    manifest = {
        "format": FORMAT,
        "shifts": shift_paths(config.shifts)[0].stem,
        "shifts_digest": shifts["digest"],
        "split": shifts["split"],
        "first_seed": shifts["first_seed"],
        "num_shifts": shifts["num_shifts"],
        "shift_config": asdict(shifts["config"]),
        "agents": [str(config.side("agent")) if agent == "llm" else agent for agent in config.agents],
        **({"agent_sources": own} if own else {}),
        "memory_modes": list(config.memory_modes),
        **({"memory_args": config.memory_args} if config.memory_args else {}),
        **({"memory_sources": memories} if memories else {}),
        "trials": config.trials,
        "user": config.user,
        **models,
        **({"log_prompts": True} if models and config.log_prompts else {}),
        "planned_cases": cases,
        "taulong_version": __version__,
        "grader_version": GRADER_VERSION,
        "tau2_distribution": tau2.distribution,
        "tau2_version": tau2.version,
        "tau2_data": tau2.data_digest,
    }
    return json.loads(json.dumps(manifest))  # as it is read back: names are texts, tuples are lists
