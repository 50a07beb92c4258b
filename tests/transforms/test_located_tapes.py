"""The calls of the user's functions that lead to each node of a recorded run."""

import simpleautodiff as ad


def square(x):
    return x * x


def traced(x):
    return (lambda y: square(y))(x) + sum(square(x) for _ in range(2))


def calls_inside():
    """List, for each product, the calls inside of the function that lead to it."""
    calls = [list(of_node) for of_node in ad.trace(traced, 2.0).calls.values()]
    names = [[call.function for call in of_node] for of_node in calls]
    return [
        of_node[own.index("traced") + 1 :]
        for of_node, own in zip(calls, names, strict=True)
        if own[-1:] == ["square"]
    ]


def test_functions_and_lambdas_are_calls_and_what_a_loop_runs_in_is_none():
    found = [[call.function for call in calls] for calls in calls_inside()]
    assert found == [["<lambda>", "square"], ["square"], ["square"]]


def test_each_call_is_one_of_its_own():
    last = [calls[-1] for calls in calls_inside()]
    assert len({call.number for call in last}) == 3
    assert {call.location for call in last} == {(__file__, traced.__code__.co_firstlineno + 1)}
