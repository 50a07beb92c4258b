"""A Wengert list: operations are tuples, and variables are places in the list."""

import math

tape = []
values = []


def push(op, value, *args):
    tape.append((op, *args))
    values.append(value)
    return len(tape) - 1


def variable(value):
    return push("input", value)


def add(i, j):
    return push("add", values[i] + values[j], i, j)


def sub(i, j):
    return push("sub", values[i] - values[j], i, j)


def mul(i, j):
    return push("mul", values[i] * values[j], i, j)


def div(i, j):
    return push("div", values[i] / values[j], i, j)


def sin(i):
    return push("sin", math.sin(values[i]), i)


def exp(i):
    return push("exp", math.exp(values[i]), i)


def backward(output):
    adjoints = [0.0] * len(tape)
    adjoints[output] = 1.0
    for k in range(output, -1, -1):
        op, *args = tape[k]
        bar = adjoints[k]
        if op == "add":
            i, j = args
            adjoints[i] += bar
            adjoints[j] += bar
        elif op == "sub":
            i, j = args
            adjoints[i] += bar
            adjoints[j] -= bar
        elif op == "mul":
            i, j = args
            adjoints[i] += bar * values[j]
            adjoints[j] += bar * values[i]
        elif op == "div":
            i, j = args
            adjoints[i] += bar / values[j]
            adjoints[j] -= bar * values[i] / values[j] ** 2
        elif op == "sin":
            (i,) = args
            adjoints[i] += bar * math.cos(values[i])
        elif op == "exp":
            (i,) = args
            adjoints[i] += bar * values[k]
    return adjoints
