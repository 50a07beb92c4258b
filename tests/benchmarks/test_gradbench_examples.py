"""Each problem against the example of the specification, to 1e-10.

The examples were answered alike by several other implementations; they are no output of ours.
"""

import numpy as np
import pytest

from gradbench import tool

LSTM = {
    "main_params": [
        [0.5, -0.25, 0.75, 0.1, 0.2, -0.3, 0.6, 0.4],
        [0.1, 0.2, -0.1, 0.3, 0.05, -0.2, 0.15, -0.05],
        [-0.4, 0.35, 0.25, 0.5, -0.15, 0.45, 0.3, -0.6],
        [0.2, -0.1, 0.4, 0.0, -0.3, 0.1, 0.25, 0.35],
    ],
    "extra_params": [[0.8, 1.2], [1.5, -0.5], [0.1, -0.2]],
    "state": [[0.3, -0.1], [0.2, 0.4], [-0.2, 0.25], [0.15, -0.35]],
    "sequence": [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 1.0]],
}
LSTM_GRADIENT = """
-6.38150068343017e-05   4.54112862298710e-05  -2.01876682886030e-05  -1.49132709844642e-06
-1.41714038661139e-04   1.79455558112616e-05  -1.39587195697231e-04   6.46482187947710e-05
-8.99849489373365e-05  -1.13082380489337e-05  -9.79930440154903e-05   6.6376717142463e-07
-1.20908188366260e-04  -5.85978099523909e-05  -7.18940038290952e-04   4.92341402749820e-04
 3.23590627967369e-04  -3.33604784928011e-04  -5.16526376505362e-05   6.78695709978147e-04
 6.97667901288901e-04  -1.79240292388409e-05  -1.19687395564752e-03   6.90485036071482e-03
 2.00232173180271e-03  -3.67424710440115e-03   1.89952760251271e-03   8.30835889261602e-03
 3.89361023573368e-03   4.27003857179048e-03   1.95524160037901e-02   5.74464613673738e-02
-7.53128889367232e-05  -1.39470735840385e-05   4.21862634697036e-03  -1.86471255867452e-02
 4.42905806445527e-02  -3.70297480066274e-01
"""
GMM = {
    **{"d": 3, "k": 2, "n": 2, "m": 2, "gamma": 0.7, "alpha": [0.3, -0.2]},
    "x": [[0.5, -1.0, 0.25], [1.5, 0.75, -0.5]],
    "mu": [[0.1, 0.2, 0.3], [1.0, 0.5, -0.25]],
    "q": [[0.1, -0.2, 0.3], [0.0, 0.25, -0.1]],
    "l": [[0.5, -0.4, 0.2], [-0.3, 0.6, 0.1]],
}
GMM_GRADIENT = {
    "alpha": [-0.306036051807376, 0.306036051807376],
    "mu": [
        [0.497695685657430, -0.568277089073539, -0.719136573379618],
        [0.468229438873216, -0.131557384895981, 0.081821821379133],
    ],
    "q": [
        [1.962745400702037, 1.910793826978659, 1.873296412326103],
        [2.305838042052750, 1.692021903050989, 2.680149491980689],
    ],
    "l": [
        [-0.121010375915078, 0.544216299803821, -0.500845481107963],
        [-0.063653153037113, -0.338852108089124, -0.070974253248344],
    ],
}
SCENE = {
    **{"n": 2, "m": 3, "p": 10, "x": [1.0, 2.0, 3.0], "w": 0.5, "feat": [20.0, 30.0]},
    "cam": [0.1, -0.2, 0.3, 0.5, -0.4, -5.0, 100.0, 10.0, -5.0, 0.05, -0.02],
}
STILL = {**SCENE, "cam": [0.0, 0.0, 0.0, *SCENE["cam"][3:]]}
OF_CAMERA = [
    *(8.70889404694424, 51.1186578344997, -11.9740296369647, -6.11428780799876, 1.82184212391250),
    *(-0.164409649173827, -0.105918050980836, 0.5, 0.0, -0.789681806420412, -0.0590891354057807),
    *(6.11428780799876, -1.82184212391250, 0.164409649173827, -31.1836101961671),
    *(-52.1315683822816, 5.44615994088030, -5.51606507941960, -1.51662533981967, -5.85958679970385),
    *(1.85266512364988, 0.0873156720831447, 0.0, 0.5, 0.650990053356494, 0.0487113152384309),
    *(1.51662533981967, 5.85958679970385, -1.85266512364988, -17.5368655833711, -1.0),
]
POINTS = {
    "points": [[0.0, 0.0], [1.0, 0.25], [0.5, 2.0], [3.0, 3.5], [4.0, 2.5]],
    "centroids": [[0.25, 0.5], [3.0, 2.0]],
}
DET = {"A": [2.0, -1.0, 0.5, 1.0, 3.0, -2.0, 0.25, 4.0, 1.5], "ell": 3}
EXAMPLES = [
    ("hello", "square", 3.0, 9.0),
    ("hello", "double", 9.0, 18.0),
    ("det", "primal", DET, 28.625),
    ("det", "gradient", DET, [12.5, -2.0, 3.25, 3.5, 2.875, -8.25, 0.5, 4.5, 7.0]),
    ("lse", "primal", {"x": [0.5, -1.25, 2.0, 0.75]}, 2.4372280586139023),
    (
        *("lse", "gradient", {"x": [0.5, -1.25, 2.0, 0.75]}),
        [0.14410284129998482, 0.02504131899511203, 0.6458241288588027, 0.18503171084610048],
    ),
    ("llsq", "primal", {"x": [0.5, -0.25, 0.125], "n": 5}, 3.6259765625),
    ("llsq", "gradient", {"x": [0.5, -0.25, 0.125], "n": 5}, [2.8125, -3.625, 1.515625]),
    ("llsq", "primal", {"x": [0.5, -0.25, 0.125, 1.5], "n": 4}, 1.7735339506172838),
    (
        *("llsq", "gradient", {"x": [0.5, -0.25, 0.125, 1.5], "n": 4}),
        [2.2777777777777777, -0.18518518518518512, 1.3641975308641976, 0.4238683127572016],
    ),
    ("ode", "primal", {"x": [0.5, 1.25, 0.75, 2.0], "s": 1}, [1.0, 1.25, 0.625, 0.625]),
    (
        "ode",
        "gradient",
        {"x": [0.5, 1.25, 0.75, 2.0], "s": 1},
        [1.25, 0.5, 0.8333333333333333, 0.3125],
    ),
    (
        *("ode", "primal", {"x": [0.5, 1.25, 0.75, 2.0, 1.5, 0.8], "s": 2}),
        [1.0, 1.25, 0.625, 0.625, 0.3515625, 0.078125],
    ),
    (
        *("ode", "gradient", {"x": [0.5, 1.25, 0.75, 2.0, 1.5, 0.8], "s": 2}),
        [0.15625, 0.0625, 0.10416666666666667, 0.0390625, 0.052083333333333336, 0.09765625],
    ),
    ("kmeans", "cost", POINTS, 6.75),
    ("kmeans", "dir", POINTS, [[-0.25, -0.25], [-0.5, -1.0]]),
    ("gmm", "objective", GMM, -39.00425372368882),
    ("gmm", "jacobian", GMM, GMM_GRADIENT),
    ("lstm", "objective", LSTM, 1.0082778187314068),
    ("lstm", "jacobian", LSTM, [*map(float, LSTM_GRADIENT.split())]),
    (
        *("ba", "objective", SCENE),
        {
            "reproj_error": {"elements": [-15.591805098083565, -8.768432791685532], "repeated": 10},
            "w_err": {"element": 0.75, "repeated": 10},
        },
    ),
    (
        *("ba", "jacobian", SCENE),
        {
            "rows": [*range(0, 301, 15), *range(301, 311)],
            "cols": [*range(11), 22, 23, 24, 31, *range(11), 22, 23, 24, 31, 40],
            "vals": OF_CAMERA,
        },
    ),
]
STRAIGHT = ([1.0, 1.0], [8.24632482614035e-06] * 4)
SLANTED = ([2.0, -1.0], [5.68402677616202e-06, -2.84201338808101e-06] * 2)
SADDLES = [("ff", *SLANTED), ("fr", *STRAIGHT), ("rf", *STRAIGHT), ("rr", *SLANTED)]


def answer(module, function, given):
    """Ask so often that the recorded program answers; descents call it often themselves."""
    demands = {"min_runs": 1 if module == "saddle" else 3, "min_seconds": 0.0}
    asked = {**given, **demands} if isinstance(given, dict) else given
    return tool.evaluate({"module": module, "function": function, "input": asked})["output"]


def assert_close(found, wanted):
    """Compare numbers to 1e-10 of the largest beside them; whole ones exactly."""
    if isinstance(wanted, dict):
        assert found.keys() == wanted.keys()
        for key in wanted:
            assert_close(found[key], wanted[key])
    elif isinstance(wanted, int):
        assert isinstance(found, int)
        assert found == wanted
    else:
        found, wanted = np.asarray(found), np.asarray(wanted)
        assert found.shape == wanted.shape
        assert np.max(np.abs(found - wanted)) <= 1e-10 * np.max(np.abs(wanted))


@pytest.mark.parametrize(("module", "function", "given", "wanted"), EXAMPLES)
def test_problems_give_what_the_specification_says(module, function, given, wanted):
    assert_close(answer(module, function, given), wanted)


def test_a_camera_that_is_not_turned():
    found = answer("ba", "objective", STILL)["reproj_error"]["elements"]
    assert_close(found, [-1.8608782974243159, -2.4322158276367194])
    values = answer("ba", "jacobian", STILL)["vals"]
    assert_close(values[:3], [-1.0365858741760, 50.4419026316643, -15.0677841723633])
    assert_close(values[15:18], [-55.2015594372559, 1.0365858741760, 3.1391217025757])


@pytest.mark.parametrize(("modes", "start", "wanted"), SADDLES)
def test_saddles_are_found_in_all_modes(modes, start, wanted):
    assert_close(answer("saddle", modes, {"start": start}), wanted)


FIRST = {  # of each generator: the description, then some numbers of the answers
    "det": ("5", "primal", 0.0049113500945118),
    "lse": ("n=2500", "primal", 8.36784652657709),
    "llsq": ("n=16", "primal", 1970.51686376788),
    "kmeans": ("k=10 n=1000 d=8", "cost", 609.338987589232),
    "gmm": ("2_5_1000", "objective", -3916.46482105447),
}


@pytest.mark.parametrize("module", FIRST)
def test_generators_draw_what_the_suite_draws(module):
    name, function, wanted = FIRST[module]
    description, given = next(tool.problem(module).workloads())
    assert description == name
    assert_close(answer(module, function, given), wanted)


def test_the_gradient_of_a_drawn_mixture():
    _, given = next(tool.problem("gmm").workloads())
    found = answer("gmm", "jacobian", given)
    sums = {key: float(np.sum(np.square(value))) for key, value in found.items()}
    wanted = [102515.041758205, 419249.569383231, 197970.910439656, 128223.674720933]
    assert_close([sums[key] for key in ("alpha", "mu", "q", "l")], wanted)
