"""A run of an airline or retail task in which nothing happens, and its reward."""

from tau2.data_model.simulation import SimulationRun, TerminationReason
from tau2.data_model.tasks import RewardType
from tau2.evaluator.evaluator import EvaluationType, evaluate_simulation
from tau2.registry import registry

for domain in ("airline", "retail"):
    tasks = registry.get_tasks_loader(domain)()
    paid = judged = 0
    for task in tasks:
        criteria = task.evaluation_criteria
        if RewardType.NL_ASSERTION in criteria.reward_basis:  # the rest without the judge
            criteria.reward_basis.remove(RewardType.NL_ASSERTION)
            asks = bool(criteria.nl_assertions)
        else:
            asks = False
        run = SimulationRun(id="nothing", task_id=task.id, start_time="", end_time="", duration=0, messages=[],
                            termination_reason=TerminationReason.USER_STOP)  # fmt: skip
        reward = evaluate_simulation(run, task, EvaluationType.ALL, solo_mode=False, domain=domain).reward
        paid += reward == 1 and not asks
        judged += reward == 1 and asks
    print(f"{domain}: doing nothing is paid in {paid} of {len(tasks)} tasks, a judge decides {judged} more")
