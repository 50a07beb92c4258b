"""Compiled functions: are they level with C written by hand?"""

from __future__ import annotations

import os
from dataclasses import dataclass

import compiled_arrays
import compiled_calls
import compiled_graphs
import compiled_rows
from field import Field
from measure import Effort
from report import Section

os.environ["SIMPLEAUTODIFF_CACHE"] = "off"  # whatever is compiled here is compiled anew

PARTS = (compiled_rows, compiled_calls, compiled_graphs, compiled_arrays)
KINDS = tuple(kind for part in PARTS for kind in part.KINDS)


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to measure."""

    calls: Effort
    rows: Effort
    graphs: Effort
    arrays: Effort
    nodes: tuple[int, ...]
    elements: tuple[int, ...]
    layers: tuple[int, ...]
    systems: tuple[int, ...]
    fresh: int  # processes of each kind


FULL = Plan(
    calls=Effort(rounds=31, slice_s=0.03, budget_s=3.0),
    rows=Effort(rounds=15, slice_s=0.05, budget_s=2.0),
    graphs=Effort(rounds=9, slice_s=0.05, budget_s=2.0),
    arrays=Effort(rounds=15, slice_s=0.03, budget_s=1.0),
    nodes=(10**3, 10**4, 10**5, 10**6),
    elements=(10**3, 10**4, 10**5, 10**6, 10**7),
    layers=(64, 1024),
    systems=(3, 10, 50, 200),
    fresh=10,
)
QUICK = Plan(
    calls=Effort(rounds=7, slice_s=0.01, budget_s=0.5),
    rows=Effort(rounds=5, slice_s=0.01, budget_s=0.3),
    graphs=Effort(rounds=5, slice_s=0.01, budget_s=0.3),
    arrays=Effort(rounds=5, slice_s=0.01, budget_s=0.2),
    nodes=(10**3, 10**4),
    elements=(10**3, 10**6),
    layers=(64, 1024),
    systems=(3, 10, 50, 200),
    fresh=3,
)


def bundle(field: Field, plan: Plan) -> Section:
    """Time Jacobians of many rows."""
    return compiled_rows.bundle_section(field, plan.rows)


def calls(field: Field, plan: Plan) -> Section:
    """Time a call."""
    return compiled_calls.call_section(field, plan.calls)


def layers(field: Field, plan: Plan) -> Section:
    """Time sums and products of single numbers."""
    title = "9a. Gradient per node: a random graph of sums and products"
    make = compiled_graphs.layers
    return compiled_graphs.graph_section(title, make, field, plan.nodes, plan.graphs)


def mixed(field: Field, plan: Plan) -> Section:
    """Time single numbers, some of them sines and exponentials."""
    title = "9b. Gradient per node: a random graph with sines, exponentials and quotients"
    make = compiled_graphs.mixed
    return compiled_graphs.graph_section(title, make, field, plan.nodes, plan.graphs)


def logsumexp(field: Field, plan: Plan) -> Section:
    """Time a function with two sums over one array."""
    title = "10a. Value and gradient: log(sum(exp(x)))"
    make = compiled_arrays.logsumexp
    return compiled_arrays.loops_section(title, make, field, plan.elements, plan.arrays)


def elementwise(field: Field, plan: Plan) -> Section:
    """Time a function made of elementwise ones."""
    title = "10b. Value and gradient: sum(sin(x) exp(-x^2) + log(1 + x^2))"
    make = compiled_arrays.elementwise
    return compiled_arrays.loops_section(title, make, field, plan.elements, plan.arrays)


def layer(field: Field, plan: Plan) -> Section:
    """Time products with a matrix."""
    return compiled_arrays.layer_section(field, plan.layers, plan.arrays)


def system(field: Field, plan: Plan) -> Section:
    """Time systems of equations."""
    return compiled_arrays.system_section(field, plan.systems, plan.arrays)


def rosenbrock(field: Field, plan: Plan) -> Section:
    """Time small Hessians."""
    return compiled_rows.rosenbrock_section(field, plan.rows)


def first(field: Field, plan: Plan) -> Section:
    """Time what happens once."""
    return compiled_calls.first_section(field, plan.fresh)


SECTIONS = (bundle, calls, layers, mixed, logsumexp, elementwise, layer, system, rosenbrock, first)
