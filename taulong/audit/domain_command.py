"""``taulong audit --domain``: what the rewards of tau2's domains pay for and refuse."""

from pathlib import Path

from taulong import backend
from taulong.audit.directions import DomainAuditConfig, audit_domains, direction_metrics
from taulong.audit.domain_figure import direction_caption, plot_directions
from taulong.audit.tables import write_audit
from taulong.batch.results import write_metrics
from taulong.domains.domain import DOMAINS
from taulong.paths import AUDIT, located
from taulong.value.figures.style import save_figure


def run_domains(domain: str, tasks: str, out: Path | None) -> int:
    """Audit one domain, several (with commas) or ``all`` that are installed; write tables and figure; return 0."""
    installed = backend.registry.get_domains()
    chosen = [name for name in DOMAINS if name in installed] if domain == "all" else domain.split(",")
    config = DomainAuditConfig(tuple(chosen), tasks)
    out = out or AUDIT / f"domains-{tasks}"
    tables = audit_domains(config)
    write_audit(tables, out)
    table = tables["directions"]
    save_figure(plot_directions(table), table.assign(caption=direction_caption(table)), out / "directions")
    print(table.to_string(index=False))
    write_metrics(out / "metrics.json", direction_metrics(tables))
    print(f"tables and figure in {located(out)}")
    return 0
