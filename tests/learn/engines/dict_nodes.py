"""Nodes are plain dicts."""

import math


def node(x):
    return {"value": x, "grad": 0.0, "parents": []}


def add(a, b):
    return {"value": a["value"] + b["value"], "grad": 0.0, "parents": [(a, 1.0), (b, 1.0)]}


def mul(a, b):
    return {
        "value": a["value"] * b["value"],
        "grad": 0.0,
        "parents": [(a, b["value"]), (b, a["value"])],
    }


def sin(a):
    return {"value": math.sin(a["value"]), "grad": 0.0, "parents": [(a, math.cos(a["value"]))]}


def backward(y):
    order, seen = [], set()

    def go(n):
        if id(n) not in seen:
            seen.add(id(n))
            for p, _ in n["parents"]:
                go(p)
            order.append(n)

    go(y)
    for n in order:
        n["grad"] = 0.0
    y["grad"] = 1.0
    for n in reversed(order):
        for p, d in n["parents"]:
            p["grad"] += n["grad"] * d
