"""The reference of an airline task with its passengers, or its payments, in another order."""

from tau2.registry import registry

make = registry.get_env_constructor("airline")


def end(task, order):
    """Return the hash of the database after the gold calls, their unordered lists turned by ``order``."""
    environment = make()
    for action in task.evaluation_criteria.actions:
        turned = {k: order(v) if k in ("passengers", "payment_methods") else v for k, v in action.arguments.items()}
        environment.make_tool_call(action.name, requestor=action.requestor, **turned)
    return environment.get_db_hash()


tasks = [
    task
    for task in registry.get_tasks_loader("airline")()
    if any(
        len(action.arguments.get(name) or ()) > 1
        for action in task.evaluation_criteria.actions
        for name in ("passengers", "payment_methods")
    )
]
refused = sum(end(task, list) != end(task, lambda values: values[::-1]) for task in tasks)
print(f"refused in another order: {refused} of {len(tasks)} tasks")
