"""What can a reward see? References of tau2's tasks with one thing changed, and which grader notices.

May use all but regrade and bench. Start with :mod:`taulong.audit.tables`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "directions": [
            "DomainAuditConfig",
            "audit_domain",
            "audit_domains",
            "direction_metrics",
            "idle_counts",
            "operator_counts",
        ],
        "domain_figure": ["direction_caption", "plot_directions"],
        "domain_runs": ["Gold", "build_gold", "outcome", "play_run"],
        "inaction": ["gold_health"],
        "target_frame": ["Parts", "judge_state"],
        "variations": ["Variation", "make_variations"],
        "census": [
            "DOMAINS",
            "agreement",
            "agreement_counts",
            "callers",
            "census_assertions",
            "census_basis",
            "census_components",
            "census_tasks",
            "read_by",
            "relations",
        ],
        "figures": ["LABELS", "MARKS", "NOTE", "plot_shares", "shares"],
        "mutations": [
            "ALL_GRADERS",
            "ARGUMENTS",
            "Branch",
            "CLASSES",
            "NOT_LICENSED",
            "OPERATOR_COLUMNS",
            "Operator",
            "Rewrite",
            "branch",
            "by_grader",
            "classify",
            "family",
            "matrix",
            "matrix_rows",
            "mutate",
            "operators",
            "outcome",
            "write_tools",
        ],
        "order": [
            "ORDER_COLUMNS",
            "ORDER_GRADERS",
            "ORDER_OPERATORS",
            "OrderOperator",
            "courteous",
            "order_rows",
            "order_table",
            "order_tasks",
        ],
        "order_command": ["order_caption", "plot_order"],
        "probes": ["PUBLISHED_TASKS", "Probe", "STRANGERS", "airline_control", "published", "run_probes", "strangers"],
        "scripts": ["call", "from_action", "gold_calls", "play", "play_in"],
        "tables": ["AuditConfig", "SPLITS", "audit", "audit_metrics", "markdown_table", "write_audit"],
    },
)
