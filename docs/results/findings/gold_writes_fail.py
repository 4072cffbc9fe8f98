"""The gold calls of every retail task, one after the other, and which of them fail."""

from tau2.environment.toolkit import ToolType
from tau2.registry import registry

make = registry.get_env_constructor("retail")
tasks = registry.get_tasks_loader("retail")()
failing, writes = [], []
for task in tasks:
    environment = make()
    for action in task.evaluation_criteria.actions or ():
        try:
            environment.make_tool_call(action.name, requestor=action.requestor, **action.arguments)
        except Exception as error:
            failing.append(task.id)
            if environment.tools.tool_type(action.name) == ToolType.WRITE:
                writes.append(task.id)
                print(f"task {task.id}: {action.name}: {error}")
print(f"a gold call fails in {len(set(failing))} of {len(tasks)} tasks, a write in {len(set(writes))}")
