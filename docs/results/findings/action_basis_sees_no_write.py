"""Banking tasks whose basis is ACTION alone: the reference with a stranger's address changed (releases that have banking)."""

from tau2.data_model.message import AssistantMessage, ToolCall
from tau2.data_model.simulation import SimulationRun, TerminationReason
from tau2.data_model.tasks import RewardType
from tau2.evaluator.evaluator import EvaluationType, evaluate_simulation
from tau2.registry import registry

if "banking_knowledge" not in registry.get_domains():
    raise SystemExit("this release of tau2 has no banking domain")
tasks = [task for task in registry.get_tasks_loader("banking_knowledge")()
         if list(task.evaluation_criteria.reward_basis) == [RewardType.ACTION]]  # fmt: skip
paid = 0
for task in tasks:
    environment = registry.get_env_constructor("banking_knowledge")(retrieval_variant="no_knowledge")
    stranger = next(key for key in environment.tools.db.users.data if key not in task.model_dump_json())
    calls = [(action.name, action.arguments) for action in task.evaluation_criteria.actions]
    calls.append(("change_user_email", {"user_id": stranger, "new_email": "nobody@example.org"}))
    messages = []
    for number, (name, arguments) in enumerate(calls):
        call = ToolCall(id=str(number), name=name, arguments=arguments, requestor="assistant")
        messages += [AssistantMessage(role="assistant", tool_calls=[call]), environment.get_response(call)]
    run = SimulationRun(id="stray", task_id=task.id, start_time="", end_time="", duration=0, messages=messages,
                        termination_reason=TerminationReason.USER_STOP)  # fmt: skip
    paid += (
        evaluate_simulation(run, task, EvaluationType.ACTION, solo_mode=False, domain="banking_knowledge").reward == 1
    )
print(f"a forbidden extra write is paid in {paid} of {len(tasks)} tasks")
