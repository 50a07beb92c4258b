"""The languages that programs are exported to: the only place that names them."""

from __future__ import annotations

from simpleautodiff.compiled.backends.c.export_c import export_c
from simpleautodiff.compiled.backends.interface import Exporter
from simpleautodiff.compiled.backends.python.export_numpy import export_numpy

EXPORTERS: dict[str, Exporter] = {"c": export_c, "python": export_numpy}
