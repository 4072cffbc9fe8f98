"""The untouched reference of a telecom task, and what tau2's database check says of it."""

from tau2.data_model.message import AssistantMessage, ToolCall, UserMessage
from tau2.data_model.simulation import SimulationRun, TerminationReason
from tau2.evaluator.evaluator import EvaluationType, evaluate_simulation
from tau2.registry import registry

TASK = "[mobile_data_issue]data_usage_exceeded[PERSONA:Easy]"
make = registry.get_env_constructor("telecom")
task = next(task for task in registry.get_tasks_loader("telecom_full")() if task.id == TASK)

environment, messages = make(), []
environment.set_state(task.initial_state.initialization_data, task.initial_state.initialization_actions, [])
for number, action in enumerate(task.evaluation_criteria.actions):
    call = ToolCall(id=str(number), name=action.name, arguments=action.arguments, requestor=action.requestor)
    kind = AssistantMessage if action.requestor == "assistant" else UserMessage
    messages += [kind(role=action.requestor, tool_calls=[call]), environment.get_response(call)]

run = SimulationRun(id="reference", task_id=TASK, start_time="", end_time="", duration=0, messages=messages,
                    termination_reason=TerminationReason.USER_STOP)  # fmt: skip
found = evaluate_simulation(run, task, EvaluationType.ALL, solo_mode=False, domain="telecom")
print("reward", found.reward)
print("database matches", found.db_check.db_match)
