"""Telecom with its policy as a workflow: the same tasks, databases and tools."""

from dataclasses import replace

from taulong.domains import telecom

DOMAIN = replace(telecom.DOMAIN, name="telecom-workflow")
