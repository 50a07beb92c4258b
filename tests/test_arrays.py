"""Unchanged NumPy code: values, both modes, two orders, for every function that is answered."""

import warnings

import numpy as np
import pytest
import scipy.special as sps

import simpleautodiff as ad
from simpleautodiff.arrays import FUNCTIONS, PLAIN
from simpleautodiff.core.level import Traced

rng = np.random.default_rng(0)
V = rng.normal(size=5)
M = rng.normal(size=(3, 4))
Q = rng.normal(size=(3, 3)) + 3 * np.eye(3)
T = rng.normal(size=(2, 3, 4))
LONG, WIDE = np.cos(np.arange(21.0) ** 2), np.sin(np.arange(38.0) ** 2).reshape(2, 19)
SPD = Q @ Q.T
HOLE = np.array([0, np.nan, 0, 0, 0])
HOLES = np.array([[0, np.nan, 0, 0], [0, 0, 0, np.nan], [np.nan, 0, 0, np.nan]])
WHERE = np.array([[True, True, False, True], [True] * 4, [False, True, True, True]])
STEPS = np.array([0.22, -0.53, 1.13, 0.87])  # not near the steps of rounding
KNOTS = np.array([-0.6, 0.1, 0.7])
ENDS = np.array([0, np.inf, 0, np.nan, -np.inf])
LOW = np.diag([1.0, 1.0, 0.0])
METHODS = ("linear", "lower", "higher", "nearest", "midpoint", "weibull", "hazen", "inverted_cdf")
M4 = rng.normal(size=(4, 4))
T12 = 0.1 * rng.normal(size=(3, 4, 3, 4))
R81 = 0.1 * rng.normal(size=81)


def fix(x):
    with warnings.catch_warnings():  # from NumPy 2.5 on
        warnings.simplefilter("ignore", DeprecationWarning)
        return np.fix(x)


def fill_with(x):
    if isinstance(x, np.ndarray):
        return np.full((2, 5), x) * np.full(5, x[0])
    return np.full((2, 5), x, like=x) * np.full_like(x, x[0])


def _matrix_log(a):
    w, v = np.linalg.eigh(a)
    return (v * np.log(w)) @ v.T


def _made(x):
    like = {"like": x} if isinstance(x, Traced) else {}
    y = np.zeros((4, 2), **like)
    y[:, 0] = x[0]
    z = np.empty(4, x.dtype, **like)
    z[:] = x[1] ** 2
    grown = np.eye(4, 3, k=1, **like) + np.identity(4, **like)[:, :3]
    return np.sum(y @ np.ones((2, 3), **like) * grown, axis=1) + z


CASES = [
    ("sum", lambda x: np.sum(x), M),
    ("sum axis", lambda x: np.sum(x, axis=1), M),
    ("sum axes", lambda x: np.sum(x, axis=(0, -1), keepdims=True), T),
    ("mean", lambda x: np.mean(x, axis=0), M),
    ("average", lambda x: np.average(x, axis=1, weights=np.arange(1.0, 5.0)), M),
    ("var", lambda x: np.var(x, axis=1, ddof=1), M),
    ("std", lambda x: np.std(x), M),
    ("max", lambda x: np.max(x, axis=0), M),
    ("min", lambda x: np.min(x, keepdims=True), M),
    ("ptp", lambda x: np.ptp(x, axis=1), M),
    ("prod", lambda x: np.prod(x, axis=1), M),
    ("prod of 5", lambda x: np.prod(x), V),
    ("prod with a zero", lambda x: np.prod(x * np.array([1, 0, 1, 1, 1])), V),
    ("cumsum", lambda x: np.cumsum(x, axis=0), M),
    ("cumprod", lambda x: np.cumprod(x), V),
    ("cumprod axis", lambda x: np.cumprod(x, axis=1), M),
    ("diff", lambda x: np.diff(x, 2, axis=0), M),
    ("trapezoid", lambda x: np.trapezoid(x, np.array([0.0, 1.0, 3.0, 4.0]), axis=1), M),
    ("trapezoid dx", lambda x: np.trapezoid(x, dx=0.5), V),
    ("dot", lambda x: np.dot(x, M), Q),
    ("dot vectors", lambda x: np.dot(x, x), V),
    ("dot of 3 axes", lambda x: np.dot(x, M.T), T),
    ("vdot", lambda x: np.vdot(x, M), M),
    ("inner", lambda x: np.inner(x, x), M),
    ("outer", lambda x: np.outer(x, x), V),
    ("matmul", lambda x: M.T @ x @ x, Q),
    ("matmul vector left", lambda x: V[:3] @ x, M),
    ("matmul vector right", lambda x: x @ V[:4], M),
    ("matmul stacks", lambda x: np.matmul(x, M.T), T),
    ("matmul broadcast", lambda x: np.matmul(Q, x), T),
    ("tensordot", lambda x: np.tensordot(x, M, axes=([1, 2], [0, 1])), T),
    ("einsum", lambda x: np.einsum("ij,kj->ik", x, x), M),
    ("einsum trace", lambda x: np.einsum("ii", x), Q),
    ("einsum diagonal", lambda x: np.einsum("ii->i", x), Q),
    ("einsum implicit", lambda x: np.einsum("ij,jk", Q, x), M),
    ("einsum ellipsis", lambda x: np.einsum("...ij,kj->...ik", x, M), T),
    ("einsum lone axis", lambda x: np.einsum("ij->i", x), M),
    ("einsum three", lambda x: np.einsum("i,ij,j->", x[:3], M, x[:4]), V),
    ("kron", lambda x: np.kron(x, np.eye(2)), M),
    ("cross", lambda x: np.cross(x, Q), Q + 1),
    ("trace", lambda x: np.trace(x, 1), M),
    ("reshape", lambda x: np.reshape(x, (2, -1)), M),
    ("reshape F", lambda x: np.reshape(x, (6, 2), order="F"), M),
    ("ravel", lambda x: np.ravel(x), M),
    ("transpose", lambda x: np.transpose(x, (2, 0, 1)), T),
    ("matmul axes", lambda x: np.matmul(x, T, axes=[(0, 1), (1, 0), (2, 0)]), T),
    ("matmul vector axes", lambda x: np.matmul(x, x[0, 0], axes=[(0, 2), (0,), (1,)]), T),
    ("vecdot axes", lambda x: np.vecdot(x, x[0], axes=[1, 0, ()]), T),
    ("swapaxes", lambda x: np.swapaxes(x, 0, -1), T),
    ("moveaxis", lambda x: np.moveaxis(x, 0, -1), T),
    ("moveaxis several", lambda x: np.moveaxis(x, [0, 1], [-1, 0]), T),
    ("expand_dims", lambda x: np.expand_dims(x, 1), M),
    ("squeeze", lambda x: np.squeeze(x[:, :1], axis=1), M),
    ("atleast", lambda x: np.atleast_3d(np.atleast_2d(np.atleast_1d(x))), V),
    ("broadcast_to", lambda x: np.broadcast_to(x, (2, 3, 4)), M),
    ("broadcast_arrays", lambda x: np.broadcast_arrays(x, np.ones((3, 5)))[0], V),
    ("flip", lambda x: np.flip(x, 1), M),
    ("fliplr flipud", lambda x: np.fliplr(np.flipud(x)), M),
    ("roll", lambda x: np.roll(x, 2, axis=1), M),
    ("rot90", lambda x: np.rot90(x), M),
    ("tile", lambda x: np.tile(x, (2, 1)), M),
    ("repeat", lambda x: np.repeat(x, 2, axis=0), M),
    ("take", lambda x: np.take(x, [2, 0, 2], axis=1), M),
    ("take_along_axis", lambda x: np.take_along_axis(x, np.argsort(x, axis=1), 1), M),
    ("resize delete", lambda x: np.delete(np.resize(x, (4, 4)), 1, axis=0), M),
    ("rollaxis", lambda x: np.rollaxis(x, 2), T),
    ("concatenate", lambda x: np.concatenate([x, M, x * 2], axis=0), M),
    ("concatenate flat", lambda x: np.concatenate([x, x], axis=None), M),
    ("append", lambda x: np.append(x, x), M),
    ("stack", lambda x: np.stack([x, M], axis=-1), M),
    ("vstack", lambda x: np.vstack([x, x * x]), V),
    ("hstack", lambda x: np.hstack([x, M]), M),
    ("dstack", lambda x: np.dstack([x, M]), M),
    ("column_stack", lambda x: np.column_stack([x, V]), V),
    ("split", lambda x: np.split(x, 2, axis=1)[1], M),
    ("array_split", lambda x: np.array_split(x, 3)[0] * np.hsplit(x, 5)[1], V),
    ("vsplit dsplit", lambda x: np.dsplit(x, 2)[0] + np.vsplit(x, 2)[0][:, :, :2], T),
    ("meshgrid", lambda x: np.meshgrid(x, x[:2])[1] * np.meshgrid(x, x[:2])[0], V),
    ("diagonal", lambda x: np.diagonal(x, 1), M),
    ("diag", lambda x: np.diag(x, -1), V),
    ("diag of a matrix", lambda x: np.diag(x), M),
    ("tril triu", lambda x: np.tril(x, 1) * 2 + np.triu(x), M),
    ("copy", lambda x: np.copy(x) ** 2, V),
    ("likes", lambda x: x * np.ones_like(x) - np.full_like(x, 2) / (3 + np.zeros_like(x)), M),
    ("where", lambda x: np.where(x > 0, x**2, np.exp(x)), M),
    ("select", lambda x: np.select([x > 1, x > 0], [x, x**2], default=-1.0), M),
    ("clip", lambda x: np.clip(x, -0.5, 0.5), M),
    ("clip one side", lambda x: np.clip(x, None, 0.5), M),
    ("sort", lambda x: np.sort(x, axis=0), M),
    ("sort flat", lambda x: np.sort(x, axis=None), M),
    ("median", lambda x: np.median(x, axis=1), M),
    ("quantile", lambda x: np.quantile(x, 0.3, axis=0, keepdims=True), M),
    ("percentile", lambda x: np.percentile(x, 40), V),
    ("interp", lambda x: np.interp(x, np.array([-1.0, 0.0, 2.0]), np.array([1.0, -1.0, 3.0])), M),
    ("interp values", lambda x: np.interp(0.3, np.array([-1.0, 0, 1, 2, 3]), x), V),
    ("polyval", lambda x: np.polyval(x, 1.7), V),
    ("convolve", lambda x: np.convolve(x, np.array([1.0, -2.0, 0.5])), V),
    ("convolve same", lambda x: np.convolve(x, x[:2], mode="same"), V),
    ("convolve valid", lambda x: np.convolve(np.ones(3), x, mode="valid"), V),
    ("sinc", lambda x: np.sinc(x), V),
    ("nan_to_num", lambda x: np.nan_to_num(x + np.array([0, np.nan, 0, 0, 0])), V),
    ("nansum", lambda x: np.nansum(x + np.array([0, np.nan, 0, 0, 0])), V),
    ("nanmean", lambda x: np.nanmean(x + np.array([0, np.nan, 0, 0, 0])), V),
    ("nanmax nanmin", lambda x: np.nanmax(x + HOLE) * np.nanmin(x + HOLE), V),
    ("nanprod", lambda x: np.nanprod(x + HOLE), V),
    ("nancumsum", lambda x: np.nancumsum(x + HOLE), V),
    ("nanvar nanstd", lambda x: np.nanvar(x + HOLE, ddof=1) * np.nanstd(x + HOLE), V),
    ("pad", lambda x: np.pad(x, ((1, 0), (2, 1)), constant_values=3.0), M),
    ("pad edge", lambda x: np.pad(x, 1, mode="edge") * np.pad(x, 1, mode="reflect"), M),
    ("partition", lambda x: np.partition(x, 2)[2], V),
    ("gradient", lambda x: np.gradient(x, 0.5), V),
    ("gradient axis", lambda x: np.gradient(x, axis=0), M),
    ("ediff1d", lambda x: np.ediff1d(x), M),
    ("vander", lambda x: np.vander(x, 4), V),
    ("cov", lambda x: np.cov(x), M),
    ("corrcoef", lambda x: np.corrcoef(x), M),
    ("pinv", lambda x: np.linalg.pinv(x) @ np.linalg.pinv(x.T), M),
    ("linalg.outer", lambda x: np.linalg.outer(x, x), V),
    ("linalg.matmul", lambda x: np.linalg.matmul(x, Q), Q),
    ("linalg.cross", lambda x: np.linalg.cross(x, Q), Q + 1),
    ("linalg.tensordot", lambda x: np.linalg.tensordot(x, M, axes=2), M),
    ("linalg.diagonal", lambda x: np.linalg.diagonal(x), T),
    ("linalg.matrix_transpose", lambda x: np.linalg.matrix_transpose(x), T),
    ("linalg.vecdot", lambda x: np.linalg.vecdot(x, M), M),
    ("linalg.vector_norm", lambda x: np.linalg.vector_norm(x), M),
    ("scipy erf", lambda x: sps.erf(x) + sps.erfc(x) * sps.ndtr(x), M),
    ("scipy gamma", lambda x: sps.gammaln(1 + x**2) + sps.gamma(1 + x**2) + sps.psi(1 + x**2), V),
    ("scipy expit", lambda x: sps.expit(x) + sps.logit(sps.expit(x)) + sps.log_expit(x), M),
    ("scipy xlogy", lambda x: sps.xlogy(x, x**2) + sps.xlog1py(x, x**2), M),
    ("scipy beta", lambda x: sps.betaln(1 + x**2, 2.0) + sps.beta(1 + x**2, 1.5 + x**2), V),
    ("i0", lambda x: np.i0(x), M),
    ("scipy powers", lambda x: sps.exp10(x) + sps.exp2(x) + sps.cbrt(x), M),
    ("inv", lambda x: np.linalg.inv(x), Q),
    ("solve", lambda x: np.linalg.solve(x, V[:3]), Q),
    ("solve right", lambda x: np.linalg.solve(Q, x), M),
    ("det", lambda x: np.linalg.det(x), Q),
    ("slogdet", lambda x: np.linalg.slogdet(x)[1], Q),
    ("cholesky", lambda x: np.linalg.cholesky((x + x.T) / 2), SPD),
    ("eigvalsh", lambda x: np.linalg.eigvalsh(x), Q),
    ("eigh", lambda x: np.linalg.eigh(x)[0] * np.linalg.eigh(x)[1] ** 2, SPD),
    ("eigh function", lambda x: _matrix_log(x), SPD),
    ("norm", lambda x: np.linalg.norm(x), M),
    ("norm 1", lambda x: np.linalg.norm(x, 1, axis=0), M),
    ("norm 3", lambda x: np.linalg.norm(x, 3, axis=1), M),
    ("norm inf", lambda x: np.linalg.norm(x, np.inf), V),
    ("norm -inf", lambda x: np.linalg.norm(x, -np.inf, axis=1), M),
    ("matrix_power", lambda x: np.linalg.matrix_power(x, 3), Q),
    ("matrix_power negative", lambda x: np.linalg.matrix_power(x, -2), Q),
    ("multi_dot", lambda x: np.linalg.multi_dot([x, Q, M]), Q),
    ("linalg.trace", lambda x: np.linalg.trace(x), Q),
    ("real imag angle", lambda x: np.real(x) * np.angle(x + 2j) + np.imag(x * 1j), M),
    ("index", lambda x: x[1], M),
    ("slices", lambda x: x[::-1, 1:3], M),
    ("new axis", lambda x: x[:, None] * x[None, :], V),
    ("ellipsis", lambda x: x[..., -1], T),
    ("boolean", lambda x: x[x > 0], M),
    ("fancy with duplicates", lambda x: x[[0, 2, 0, 0]], M),
    ("fancy pairs", lambda x: x[[0, 1, 1], [2, 3, 3]], M),
    ("methods", lambda x: x.T.reshape(2, 6).sum(axis=0).mean() + x.max() * x.min(), M),
    ("more methods", lambda x: x.flatten().cumsum().std() + x.clip(-1, 1).var() + x.dot(V[:4]), M),
    ("iteration", lambda x: sum(row @ row for row in x) * len(x), M),
    ("broadcasting", lambda x: (x + V[:4]) * np.ones((2, 1, 1)) / (1 + x[0] ** 2), M),
    ("scalar meets array", lambda x: x[0, 0] * M + x, M),
    ("reflected", lambda x: M - np.float64(2) * x + 3 / (x**2 + 1) + M * x, M),
    ("logistic", lambda x: np.sum(np.logaddexp(0, -M @ x)), V[:4]),
    ("softmax", lambda x: np.exp(x - x.max()) / np.sum(np.exp(x - x.max())), V),
    ("mlp", lambda x: np.tanh(np.tanh(M @ x.reshape(4, 3)) @ Q).sum(axis=1), M),
    ("two powers", lambda x: np.abs(x) ** 1.5 + 2.0**x + np.hypot(x, 1), M),
    ("extremes", lambda x: np.maximum(x, 0.1) + np.minimum(x, x.T.T * 0.5) + np.fmax(x, -x), M),
    ("special", lambda x: np.arctan2(x, 1 + x**2) + np.log1p(x**2) + np.cbrt(x), M),
    ("sum where", lambda x: np.sum(x, axis=1, where=M > 0, initial=2.0), M),
    ("sum positional", lambda x: x.sum(0, None, None, True) + np.sum(x, 1, None, None, True), M),
    ("sum dtype", lambda x: np.sum(x, axis=0, dtype=np.float64), M),
    ("mean where", lambda x: np.mean(x, axis=1, where=WHERE, keepdims=True), M),
    ("average returned", lambda x: np.average(x, 0, np.arange(1.0, 4.0), True)[0], M),
    ("average weights", lambda x: np.average(M, axis=(0, 1), weights=x**2, keepdims=True), M),
    ("var where", lambda x: np.var(x, axis=1, where=WHERE, ddof=1), M),
    ("var mean", lambda x: np.var(x, axis=0, mean=np.mean(x, axis=0, keepdims=True)), M),
    ("std correction", lambda x: np.std(x, axis=(0, 2), correction=1, keepdims=True), T),
    ("max initial", lambda x: np.max(x, axis=1, initial=0.4), M),
    ("max where", lambda x: np.max(x, axis=0, initial=-9.0, where=WHERE), M),
    ("min where", lambda x: np.min(x, axis=-1, initial=9.0, where=WHERE), M),
    ("prod where", lambda x: np.prod(x, axis=(0, -1), where=WHERE, initial=2.0), M),
    ("cumulative_sum", lambda x: np.cumulative_sum(x, axis=1, include_initial=True), M),
    ("cumulative_prod", lambda x: np.cumulative_prod(x, include_initial=True), V),
    ("diff ends", lambda x: np.diff(x, axis=0, prepend=x[:1] ** 2, append=1.0), M),
    ("ediff1d ends", lambda x: np.ediff1d(x, to_end=[2.0, 3.0], to_begin=x[0]), V),
    ("trapezoid of x", lambda x: np.trapezoid(V, x), V),
    ("trapezoid axis 0", lambda x: np.trapezoid(x, x**3, axis=0), M),
    ("gradient all axes", lambda x: np.stack(np.gradient(x)), M),
    ("gradient spacings", lambda x: np.stack(np.gradient(x, 0.5, np.array([0.0, 1, 3, 4]))), M),
    ("gradient edge 2", lambda x: np.gradient(x, np.array([0.0, 1, 3, 4, 7]), edge_order=2), V),
    ("gradient of coordinates", lambda x: np.gradient(V, np.cumsum(x**2 + 0.1)), V),
    ("interp sides", lambda x: np.interp(x, KNOTS, KNOTS**2, left=-5.0, right=x[0, 0]), M),
    ("interp period", lambda x: np.interp(x, [0.5, 0.1, 0.9], [1.0, 2.0, 4.0], period=1.0), M),
    ("interp one point", lambda x: np.interp(V, [0.2], x[:1]), V),
    ("interp knots", lambda x: np.interp(V, KNOTS + 0.01 * x[:3], x[:3]), V),
    ("correlate", lambda x: np.correlate(x, V[:3]), V),
    ("correlate same", lambda x: np.correlate(V[:2], x, "same"), V),
    ("correlate even", lambda x: np.correlate(V[:3], x[:4], "same"), V),
    ("correlate full", lambda x: np.correlate(x, x**2, "full"), V),
    ("unwrap", lambda x: np.unwrap(x * 8, axis=0), M),
    ("polyadd polysub", lambda x: np.polyadd(x, [1.0, 2.0]) * np.polysub([3.0], x**2), V),
    ("polymul", lambda x: np.polymul(x, x[:3]), V),
    ("polydiv", lambda x: np.concatenate(np.polydiv(x, V[:3] + 2)), V),
    ("polyder", lambda x: np.polyder(x, 2), V),
    ("polyint", lambda x: np.polyint(x, 2, k=[1.0, 2.0]), V),
    ("poly", lambda x: np.poly(x), V),
    ("poly of a matrix", lambda x: np.poly(x), M4),
    ("polyfit cov", lambda x: np.polyfit(np.arange(5.0), x, 1, cov=True)[1], V),
    ("polyfit unscaled", lambda x: np.polyfit(x, np.stack([V, V]).T, 1, cov="unscaled")[1], V),
    ("roots", lambda x: np.abs(np.roots(x)), V),
    ("polyfit", lambda x: np.polyfit(np.arange(5.0), x, 2), V),
    ("polyfit weights", lambda x: np.polyfit(x, V**2, 1, w=np.arange(1.0, 6.0)), V),
    ("vecdot", lambda x: np.vecdot(x, M), M),
    ("matvec vecmat", lambda x: np.matvec(x, V[:4]) * np.vecmat(V[:3], x)[:3], M),
    ("einsum lists", lambda x: np.einsum(x, [0, 1], M, [2, 1], [0, 2]), M),
    ("einsum lists implicit", lambda x: np.einsum(x, [..., 1], M, [..., 1]), M),
    ("einsum stretched", lambda x: np.einsum("ij,ij->ij", x[:, :1], M), M),
    ("einsum ellipses", lambda x: np.einsum("...j,j...->...", x, x[0, 0], optimize=True), T),
    ("einsum outer sum", lambda x: np.einsum("ij,kl->", x, M), M),
    ("cross axes", lambda x: np.cross(x, Q.T, axisa=0, axisb=1, axisc=0), Q),
    ("trace axes", lambda x: np.trace(x, offset=1, axis1=1, axis2=2), T),
    ("dot of numbers", lambda x: np.dot(x, 2.0) + np.dot(x[0, 0], M) + np.inner(x, 3.0), M),
    ("tensordot one", lambda x: np.tensordot(x, T, axes=1), M.T @ M[:, :2]),
    ("multi_dot vectors", lambda x: np.linalg.multi_dot([V[:3], x, V[:4]]), M),
    ("reshape method", lambda x: x.reshape(-1) * x.reshape((12,), order="F"), M),
    ("ravel F", lambda x: np.ravel(x, order="F") * x.flatten("F"), M),
    ("mT", lambda x: x.mT @ np.matrix_transpose(x).mT, T),
    ("permute_dims", lambda x: np.permute_dims(x, (1, 0, 2)), T),
    ("astype", lambda x: np.astype(x, np.float64) + x.astype(float), M),
    ("rot90 back", lambda x: np.rot90(x, -1, axes=(1, 2)), T),
    ("flip all", lambda x: np.flip(x) + np.flip(x, (0, 2)), T),
    ("roll twice along one axis", lambda x: np.roll(x, (1, 2), axis=1), M),
    ("windows", lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 3)), M),
    ("window along an axis", lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, 0), M),
    ("hypot.reduce of all", lambda x: np.hypot.reduce(x, axis=None, keepdims=True), M),
    ("long logaddexp.reduce", lambda x: np.logaddexp.reduce(x, initial=0.5), LONG),
    ("long logaddexp2.reduce", lambda x: np.logaddexp2.reduce(x, axis=(1, 0), keepdims=True), WIDE),
    ("long hypot.reduce", lambda x: np.hypot.reduce(x), LONG),
    ("long fmax.reduce", lambda x: np.fmax.reduce(x, axis=1) + np.fmin.reduce(x, axis=1), WIDE),
    ("logaddexp.reduce of two axes", lambda x: np.logaddexp.reduce(x, axis=(0, -1)), T),
    ("made like x", lambda x: _made(x), M),
    ("roll many", lambda x: np.roll(x, (1, 2), axis=(0, 1)), M),
    ("repeat many", lambda x: np.repeat(x, [1, 0, 2], axis=0), M),
    ("take wrap", lambda x: np.take(x, [5, -1], mode="wrap") * x.take([0, 1]), M),
    ("insert", lambda x: np.insert(x, [1, 2], x[:, :1], axis=1), M),
    ("insert flat", lambda x: np.insert(x, 2, 7.0), M),
    ("block", lambda x: np.block([[x, Q], [np.ones((1, 4)), np.zeros((1, 3))]]), M),
    ("concat dtype", lambda x: np.concatenate([x, [[1, 2, 3, 4]]], dtype=np.float64), M),
    ("unstack", lambda x: np.unstack(x, axis=1)[2], M),
    ("meshgrid sparse", lambda x: np.prod(np.meshgrid(x, x, indexing="ij", sparse=True)[0]), V),
    ("diagflat", lambda x: np.diagflat(x[:, :1], 1), M),
    ("diag indices", lambda x: np.diagonal(x, 0, 0, 2), T),
    ("compress", lambda x: np.compress([True, False, True], x, axis=0), M),
    ("extract", lambda x: np.extract(M > 0, x), M),
    ("choose", lambda x: np.choose([0, 1, 1, 0, 1], [x, x**2]), V),
    ("piecewise", lambda x: np.piecewise(x, [x < 0, x > 0.3], [lambda u: -u, np.exp, 5.0]), V),
    ("clip keywords", lambda x: np.clip(x, min=-0.5) + x.clip(max=0.2), M),
    ("round", lambda x: np.round(x, 1) * x + np.around(x) + fix(x) * x.round(1), STEPS),
    ("real_if_close", lambda x: np.real_if_close(x + 0j), M),
    ("apply_along_axis", lambda x: np.apply_along_axis(lambda r: r * r.sum(), 1, x), T),
    ("apply_along_axis number", lambda x: np.apply_along_axis(np.prod, 0, x), M),
    ("apply_over_axes", lambda x: np.apply_over_axes(np.sum, x, [0, 2]), T),
    ("linspace", lambda x: np.linspace(x[0], x[1], 4), V),
    ("linspace arrays", lambda x: np.linspace(x, 2.0, 3, endpoint=False, axis=-1), V),
    ("linspace step", lambda x: np.linspace(x[0], 3.0, 4, retstep=True)[1], V),
    ("logspace", lambda x: np.logspace(x[0], x[1], 3, base=2.0), V),
    ("geomspace", lambda x: np.geomspace(1 + x[0] ** 2, 9.0, 4), V),
    ("array like", lambda x: np.array([[x[0], 1.0], [x[1], x[2]]], like=x), V),
    ("asarray like", lambda x: np.asarray([x[0], 2.0], like=x), V),
    ("full", lambda x: fill_with(x), V),
    ("histogram", lambda x: np.histogram([0, 2, 2.5, 1, 0], 3, weights=x)[0], V),
    (
        "histogram2d",
        lambda x: np.histogram2d(np.arange(5.0), np.arange(5.0) ** 2, 2, weights=x, density=True)[
            0
        ],
        V**2,
    ),
    (
        "histogramdd",
        lambda x: np.histogramdd([np.arange(5.0), np.arange(5.0) ** 2], 2, weights=x)[0],
        V,
    ),
    ("svd hermitian", lambda x: np.linalg.svd(x + x.T, hermitian=True)[1], Q),
    ("bincount", lambda x: np.bincount([0, 2, 2, 1, 0], weights=x, minlength=5), V),
    ("cov columns", lambda x: np.cov(x, rowvar=False, bias=True), M),
    ("cov y", lambda x: np.cov(x, V, ddof=0), V),
    ("cov weights", lambda x: np.cov(x, fweights=[1, 2, 1, 3], aweights=[1.0, 0.5, 2.0, 1.0]), M),
    ("corrcoef y", lambda x: np.corrcoef(x, V, rowvar=False)[0, 1], V**2),
    ("quantiles", lambda x: np.quantile(x, [0.1, 0.5, 0.9], axis=1, keepdims=True), M),
    ("quantile methods", lambda x: sum(np.quantile(x, 0.37, method=m) for m in METHODS), V),
    ("percentiles", lambda x: np.percentile(x, [[20, 30]], axis=(0, 2)), T),
    ("median keepdims", lambda x: np.median(x, axis=(1, 2), keepdims=True), T),
    ("nanquantile", lambda x: np.nanquantile(x + HOLE, [0.2, 0.7]), V),
    ("nanquantile axis", lambda x: np.nanquantile(x + HOLES, 0.3, axis=1, keepdims=True), M),
    ("nanpercentile", lambda x: np.nanpercentile(x + HOLES, [20, 60], axis=0), M),
    ("nanmedian", lambda x: np.nanmedian(x + HOLES, axis=(0, 1)), M),
    ("nancumprod", lambda x: np.nancumprod(x + HOLES, axis=1), M),
    ("nanmean axis", lambda x: np.nanmean(x + HOLES, axis=1, keepdims=True), M),
    ("nan_to_num all", lambda x: np.nan_to_num(x + ENDS, nan=1.0, posinf=2.0, neginf=3.0), V),
    ("partition axis", lambda x: np.sum(np.partition(x, 1, axis=0)[:2], axis=0), M),
    ("pad tuples", lambda x: np.pad(x, ((1, 2), (0, 1)), constant_values=((1, 2), (3, 4))), M),
    ("pad node", lambda x: np.pad(x, 1, constant_values=x[0]), V),
    ("pad modes", lambda x: np.pad(x, 2, "symmetric") * np.pad(x, 2, "wrap"), M),
    ("pad odd", lambda x: np.pad(x, ((2, 1), (1, 3)), "reflect", reflect_type="odd"), M),
    ("pad ramp", lambda x: np.pad(x, (2, 3), "linear_ramp", end_values=(1.0, -2.0)), V),
    ("pad mean", lambda x: np.pad(x, 2, "mean", stat_length=2), M),
    ("pad extremes", lambda x: np.pad(x, 1, "maximum") + np.pad(x, 1, "minimum"), M),
    ("pad median", lambda x: np.pad(x, ((1, 1), (0, 2)), "median", stat_length=((2,), (3,))), M),
    ("fft", lambda x: np.abs(np.fft.fft(x)) ** 2, V),
    ("fft padded", lambda x: np.abs(np.fft.fft(x, 7, axis=0, norm="ortho")) ** 2, M),
    ("ifft cut", lambda x: np.fft.ifft(x, 3, norm="forward").real, M),
    ("rfft", lambda x: np.abs(np.fft.rfft(x, axis=0)) ** 2 + np.fft.rfft(x, axis=0).imag, M),
    ("rfft even", lambda x: np.fft.rfft(x).real * np.fft.rfft(x, norm="ortho").imag, M),
    ("irfft", lambda x: np.fft.irfft(x + 1j * x**2, axis=1), M),
    ("irfft odd", lambda x: np.fft.irfft(x * np.exp(1j * x), 7, norm="ortho"), V),
    ("hfft ihfft", lambda x: np.fft.hfft(x + 1j * x**2) * np.abs(np.fft.ihfft(x, 15))[0], V),
    ("fft2", lambda x: np.abs(np.fft.fft2(x, (4, 3))) ** 2 + np.fft.ifft2(x, (4, 3)).real, T),
    ("fftn", lambda x: np.fft.fftn(x, axes=(0, 2)).imag * np.fft.ifftn(x, norm="ortho").real, T),
    ("rfft2", lambda x: np.abs(np.fft.rfft2(x)) ** 2, T),
    ("irfft2", lambda x: np.fft.irfft2(np.exp(1j * x), s=(3, 5)), T),
    ("rfftn", lambda x: np.fft.irfftn(np.fft.rfftn(x) ** 2, s=(2, 3, 4), axes=(0, 1, 2)), T),
    ("rfftn axes", lambda x: np.abs(np.fft.rfftn(x, (3, 4), (2, 1))), T),
    ("fftshift", lambda x: np.fft.fftshift(x) * np.fft.ifftshift(x, axes=1), M),
    ("inv of stacks", lambda x: np.linalg.inv(x[:, :, :3] + 3 * np.eye(3)), T),
    ("solve of stacks", lambda x: np.linalg.solve(x[:, :, :3] + 3 * np.eye(3), x), T),
    ("tensorsolve", lambda x: np.linalg.tensorsolve(np.eye(12).reshape(3, 4, 3, 4) + T12, x), M),
    (
        "tensorinv",
        lambda x: np.linalg.tensorinv(x.reshape(3, 3, 9) + np.eye(9).reshape(3, 3, 9)),
        R81,
    ),
    ("det of stacks", lambda x: np.linalg.det(x[:, :, 1:]), T),
    ("singular det", lambda x: np.linalg.det(x * np.array([1, 1, 0])) + x[0], Q),
    ("det of rank 2", lambda x: np.linalg.det(x @ LOW @ Q) + x[0], Q),
    ("slogdet sign", lambda x: np.linalg.slogdet(x + 1j * x.T @ x)[0].real, Q),
    ("slogdet complex", lambda x: np.linalg.slogdet(x + 1j * x.T @ x)[1], Q),
    ("cholesky upper", lambda x: np.linalg.cholesky((x + x.T) / 2, upper=True), SPD),
    ("eigh upper", lambda x: np.linalg.eigh(x, "U")[1] ** 2 + np.linalg.eigvalsh(x, UPLO="U"), Q),
    ("svd", lambda x: np.linalg.svd(x, full_matrices=False)[0] ** 2, M),
    ("svd tall", lambda x: np.linalg.svd(x, full_matrices=False).U ** 2, M.T),
    ("svd right", lambda x: np.linalg.svd(x, full_matrices=False)[2] ** 2, M),
    ("svd right tall", lambda x: np.linalg.svd(x, False).Vh ** 2, M.T),
    ("svd together", lambda x: (lambda u, s, v: (u * np.sqrt(s)) @ v)(*np.linalg.svd(x, False)), M),
    ("svd square", lambda x: (lambda u, s, v: u @ v)(*np.linalg.svd(x)), Q),
    ("svdvals", lambda x: np.linalg.svdvals(x) * np.linalg.svd(x, compute_uv=False), T),
    ("qr", lambda x: np.linalg.qr(x).Q * np.linalg.qr(x)[0], M.T),
    ("qr R", lambda x: np.linalg.qr(x).R + np.linalg.qr(x, mode="r"), M.T),
    ("qr wide", lambda x: np.linalg.qr(x)[1] * (np.linalg.qr(x, "complete")[0] @ x), M),
    ("qr of stacks", lambda x: np.linalg.qr(x)[1][..., 0], T),
    ("eigvals", lambda x: np.sort(np.abs(np.linalg.eigvals(x))), M4),
    ("eig", lambda x: np.abs(np.linalg.eig(x)[1]) ** 2, M4),
    ("eig vectors", lambda x: np.linalg.eig(x).eigenvectors.real ** 2, M4),
    (
        "eig function",
        lambda x: (lambda w, v: (v * np.exp(w)) @ np.linalg.inv(v))(*np.linalg.eig(x)).real,
        M4,
    ),
    (
        "eig real",
        lambda x: np.real(np.linalg.eig(x)[1] * np.linalg.eig(x)[0]),  # complex from NumPy 2.5 on
        np.diag([1.0, 2, 4]) + 0.1 * Q,
    ),
    ("lstsq", lambda x: np.linalg.lstsq(x, V[:4])[0], M.T),
    ("lstsq residuals", lambda x: np.linalg.lstsq(M.T, x, rcond=None)[1], M4),
    ("lstsq wide", lambda x: np.linalg.lstsq(x, V[:3])[0], M),
    ("pinv tall", lambda x: np.linalg.pinv(x), M.T),
    ("pinv of low rank", lambda x: np.linalg.pinv(np.outer(x, x), rcond=1e-3), V),
    ("pinv of stacks", lambda x: np.linalg.pinv(x), T),
    ("norm 1 of matrices", lambda x: np.linalg.norm(x, 1) + np.linalg.norm(x, -1), M),
    ("norm inf of matrices", lambda x: np.linalg.norm(x, np.inf) * np.linalg.norm(x, -np.inf), M),
    ("norm 2 of matrices", lambda x: np.linalg.norm(x, 2, axis=(0, 2)), T),
    ("norm -2 nuc", lambda x: np.linalg.norm(x, -2) + np.linalg.norm(x, "nuc"), M),
    ("norm fro", lambda x: np.linalg.norm(x, "fro", axis=(1, 2), keepdims=True), T),
    ("matrix_norm", lambda x: np.linalg.matrix_norm(x, ord="nuc", keepdims=True), T),
    (
        "vector_norm all",
        lambda x: np.linalg.vector_norm(x, ord=3) + np.linalg.vector_norm(x, ord=1),
        M,
    ),
    ("vector_norm axis", lambda x: np.linalg.vector_norm(x, axis=1, ord=-np.inf), M),
    ("cond", lambda x: np.linalg.cond(x) + np.linalg.cond(x, -2) + np.linalg.cond(x, 1), Q),
    ("matrix_power 0", lambda x: np.linalg.matrix_power(x, 0) + x, Q),
    ("linalg.trace stacks", lambda x: np.linalg.trace(x, offset=1), T),
    ("add.reduce", lambda x: np.add.reduce(x) + np.add.reduce(x, axis=1, keepdims=True), Q),
    ("other reduces", lambda x: np.multiply.reduce(x, 1) + np.maximum.reduce(x, 1, initial=0.2), M),
    ("loops of reduce", lambda x: np.logaddexp.reduce(x) + np.subtract.reduce(x), M),
    ("accumulate", lambda x: np.add.accumulate(x) * np.multiply.accumulate(x, 1), M),
    ("accumulate maximum", lambda x: np.maximum.accumulate(x, axis=1), M),
    ("outer of ufuncs", lambda x: np.subtract.outer(x, x[:2]) + np.power.outer(x**2, [1, 2]), V),
    ("reduceat", lambda x: np.add.reduceat(x, [0, 3, 1]), V),
    ("ufunc where", lambda x: np.log(x + 2.5, where=M > -1, out=np.zeros_like(x)), M),
    ("ufunc dtype", lambda x: np.exp(x, dtype=np.float64) + np.add(x, [1, 2, 3, 4]), M),
    ("fmod", lambda x: np.fmod(x, 0.4) + np.fmod(2.3, 1 + x**2) + np.remainder(x, 0.3), STEPS),
    ("parts", lambda x: np.modf(x * 3)[0] + np.divmod(x, 0.4)[1], STEPS),
    ("heaviside", lambda x: np.heaviside(x, 0.5) * x, M),
    ("ldexp", lambda x: np.ldexp(x, [1, 2, 3, 4]) + np.nextafter(x, 2.0), M),
    ("float_power", lambda x: np.float_power(x, 3) + np.float_power(2.0, x), M),
    ("lists", lambda x: x * [1, 2, 3, 4] + [4, 3, 2, 1] - [1.0] * 4 @ x.T @ x, M),
    ("item tolist flat", lambda x: x.item(1) * x.tolist()[0][1] + x.flat[2] * sum(x[0]), M),
    ("single number", lambda x: x[0, 0][()] * x[1, 1][None] + x[0, 0][...], M),
    (
        "more array methods",
        lambda x: x.compress([1, 0, 1], 0).repeat(2, 1).round() * x[:2, :1] + x.ravel()[3],
        M,
    ),
]
NOT_IN_BATCHES = [  # shapes of results depend on numbers, or the bits of numbers are asked for
    ("frexp", lambda x: np.frexp(x)[0] * np.ldexp(x, -np.frexp(x)[1]), STEPS),
    ("piecewise roots", lambda x: np.piecewise(x, [x < 0, x > 0], [lambda u: u.sum(), np.sqrt]), V),
    ("roots with zeros", lambda x: np.abs(np.roots(x * np.array([0, 1, 1, 1, 0]))), V),
    ("trim_zeros", lambda x: np.trim_zeros(x * np.array([0, 0, 1, 1, 0])), V),
]
ALL_CASES = CASES + NOT_IN_BATCHES
IDS = [case[0] for case in ALL_CASES]
OF_NUMPY = [case for case in CASES if not case[0].startswith(("scipy", "i0"))]


def weights(shape):
    return np.cos(np.arange(np.prod(shape, dtype=int)) + 1.0).reshape(shape)


def difference(f, x, direction):
    """Differentiate along a line, to eight digits or so, by a stencil of five points."""
    h = 1e-3
    along = lambda t: np.asarray(f(x + t * direction))
    return (8 * (along(h) - along(-h)) - (along(2 * h) - along(-2 * h))) / (12 * h)


@pytest.mark.parametrize(("name", "f", "x"), ALL_CASES, ids=IDS)
def test_value_forward_reverse(name, f, x):
    expected = np.asarray(f(x))
    direction = weights(x.shape)
    value, tangent = ad.jvp(f, (x,), (direction,))
    np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-14)
    assert np.shape(tangent) == expected.shape
    scale = 1 + np.max(np.abs(tangent), initial=0)
    np.testing.assert_allclose(tangent, difference(f, x, direction), atol=1e-8 * scale)
    _, pullback = ad.vjp(f, x)
    seed = weights(expected.shape)
    (adjoint,) = pullback(seed if seed.shape else seed[()])
    assert adjoint.shape == x.shape
    left, right = np.vdot(tangent, seed), np.vdot(direction, adjoint)
    np.testing.assert_allclose(left, right, rtol=1e-10, atol=1e-11 * scale)


@pytest.mark.parametrize(("name", "f", "x"), ALL_CASES, ids=IDS)
def test_second_order(name, f, x):
    value = np.asarray(f(x))
    scalar = lambda x: np.sum(np.sin(f(x)) * weights(value.shape))
    direction = weights(x.shape)
    slope = ad.grad(scalar)
    product = ad.hvp(scalar, (x,), (direction,))
    scale = 1 + np.max(np.abs(product))
    np.testing.assert_allclose(product, difference(slope, x, direction), atol=2e-7 * scale)
    again = ad.grad(lambda x: np.sum(slope(x) * direction))(x)
    np.testing.assert_allclose(again, product, rtol=1e-9, atol=1e-10 * scale)
    along = lambda t: scalar(x + t * direction)
    second = ad.derivative(along, 2)(0.0)
    np.testing.assert_allclose(second, np.vdot(direction, product), rtol=1e-8, atol=1e-9 * scale)


@pytest.mark.parametrize(("name", "f", "x"), ALL_CASES, ids=IDS)
def test_float32_stays_float32(name, f, x):
    x32 = x.astype(np.float32)
    gradient = ad.grad(lambda x: np.sum(np.sin(f(x))))(x32)
    assert gradient.dtype == np.float32
    full = ad.grad(lambda x: np.sum(np.sin(f(x))))(x)
    np.testing.assert_allclose(gradient, full, atol=5e-3 * (1 + np.max(np.abs(full))))


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble])
@pytest.mark.parametrize(("name", "f", "x"), OF_NUMPY, ids=[case[0] for case in OF_NUMPY])
def test_values_have_the_kind_that_numpy_gives(name, f, x, kind):
    x = x.astype(kind)
    try:
        expected = np.asarray(f(x))
    except (TypeError, np.linalg.LinAlgError):
        pytest.skip("NumPy does not take this kind")
    value, tangent = ad.jvp(f, (x,), (x,))
    assert np.asarray(value).dtype in (expected.dtype, kind)  # NumPy makes some 64 bits wide
    assert np.asarray(tangent).dtype == np.asarray(value).dtype
    _, pullback = ad.vjp(f, x)
    (adjoint,) = pullback(np.ones_like(expected)[()])
    assert adjoint.dtype == kind


def test_every_answered_function_is_in_some_case():
    seen = set()
    original = Traced.__array_function__
    Traced.__array_function__ = lambda self, f, *rest: (seen.add(f), original(self, f, *rest))[1]
    try:
        for _, f, x in ALL_CASES:
            ad.jvp(f, (x,), (x,))
    finally:
        Traced.__array_function__ = original
    missing = set(FUNCTIONS) - seen - {np.amax, np.amin, np.empty_like, np.asanyarray}
    assert {f.__name__ for f in missing} == set()


def test_plain_answers():
    x = ad.Node(M)
    assert np.argmax(x) == np.argmax(M)
    assert x.shape == (3, 4)
    assert np.shape(x) == (3, 4)
    assert x.argsort().tolist() == M.argsort().tolist()
    assert (x > 0).tolist() == (M > 0).tolist()
    assert (x.size, x.ndim, x.dtype) == (12, 2, np.float64)
    assert len(PLAIN) > 15


def test_jacobians_of_arrays():
    f = lambda x: np.sin(M @ x)
    expected = np.cos(M @ V[:4])[:, None] * M
    for make in (ad.jacobian, ad.jacfwd, ad.jacrev):
        np.testing.assert_allclose(make(f)(V[:4]), expected, rtol=1e-13)
    hessian = ad.hessian(lambda x: np.sum(x**3) + x[0] * x[1])(V)
    other = np.diag(6 * V)
    other[0, 1] = other[1, 0] = 1
    np.testing.assert_allclose(hessian, other, rtol=1e-12, atol=1e-12)
    both = ad.jacobian(lambda p: {"s": np.sum(p["a"]) * p["b"]})({"a": M, "b": 2.0})
    np.testing.assert_allclose(both["s"]["a"], 2 * np.ones((3, 4)))
    assert both["s"]["b"] == pytest.approx(M.sum())


@pytest.mark.parametrize("shape", [(), (0,), (1,), (1, 1), (0, 3)])
def test_empty_and_small_arrays(shape):
    x = np.full(shape, 2.0)
    gradient = ad.grad(lambda x: np.sum(x * x) + 0.0)(x)
    assert np.shape(gradient) == shape
    np.testing.assert_allclose(gradient, 2 * x)


def test_conventions_on_arrays():
    np.testing.assert_array_equal(ad.grad(np.max)(np.array([1.0, 3.0, 3.0])), [0, 0.5, 0.5])
    np.testing.assert_array_equal(ad.grad(np.linalg.norm)(np.zeros(3)), [0, 0, 0])
    np.testing.assert_array_equal(
        ad.grad(lambda x: np.sum(np.abs(x)))(np.array([-1.0, 0, 2])), [-1, 0, 1]
    )
    np.testing.assert_array_equal(ad.grad(lambda x: np.sum(x**0))(np.zeros(2)), [0, 0])


def test_equal_eigenvalues_have_finite_derivatives():
    f = lambda a: np.sum(np.linalg.eigh(a)[1] ** 3) + np.sum(np.linalg.eigh(a)[0] ** 2)
    gradient = ad.grad(f)(np.eye(3))
    np.testing.assert_allclose(gradient, 2 * np.eye(3), atol=1e-12)


def test_whole_numbers_are_promoted_and_texts_refused():
    gradient = ad.grad(lambda x: np.sum(x * x))(np.array([1, 2, 3]))
    assert gradient.dtype == np.float64
    np.testing.assert_array_equal(gradient, [2, 4, 6])
    with pytest.raises(ad.ValueKindError, match="array of <U1"):
        ad.grad(lambda x: 1.0)(np.array(["a"]))


def test_refusals_of_arrays():
    with pytest.raises(ad.ResultError, match=r"array of shape \(5,\). Use jacobian"):
        ad.grad(np.sin)(V)
    with pytest.raises(ad.RuleError, match=r"no derivative rule for np.unique. Find the indices"):
        np.unique(ad.Node(V))
    with pytest.raises(ad.RuleError, match=r"no derivative rule for np.gcd"):
        np.gcd(ad.Node(V), 2)
    with pytest.raises(ad.RuleError, match=r"np.linalg.svd of a node: the vectors"):
        np.linalg.svd(ad.Node(M))
    with pytest.raises(ad.ArgumentError, match=r"must have the shape \(5,\), but has \(3,\)"):
        ad.jvp(np.sin, (V,), (V[:3],))
    with pytest.raises(ad.LostDerivativeError, match=r"np.stack"):
        np.zeros(3)[0:1] = ad.Node(V)
    with pytest.raises(ad.ArgumentError, match=r"matmul of arrays of shape \(3, 4\) and \(5,\)"):
        M @ ad.Node(V)
    with pytest.raises(ad.DomainError, match=r"inv of arrays of shape .* Singular matrix"):
        np.linalg.inv(ad.Node(np.zeros((2, 2))))
    with pytest.raises(TypeError, match="single number"):
        len(ad.Node(2.0))
    with pytest.raises(ad.ArgumentError, match="one number"):
        ad.derivative(np.sin)(V)


def test_typed_by_hand():
    x = ad.Node(V)
    y = np.sum(np.exp(x) * M[0, 0])
    np.testing.assert_allclose(ad.reverse(y)[x], np.exp(V) * M[0, 0])
    elementwise = np.sin(x)
    np.testing.assert_allclose(ad.reverse(elementwise)[x], np.cos(V))
    np.testing.assert_allclose(ad.forward(x)[elementwise], np.cos(V))


def test_programs_agree_with_autograd():
    import autograd
    import autograd.numpy as anp

    def loss(np, w, data, labels):
        hidden = np.tanh(np.dot(data, w[0]) + w[1])
        scores = np.dot(hidden, w[2])
        scores = scores - np.max(scores, axis=1, keepdims=True)
        logs = scores - np.log(np.sum(np.exp(scores), axis=1, keepdims=True))
        return -np.mean(logs[np.arange(len(labels)), labels]) + 0.1 * np.sum(w[0] ** 2)

    w = [rng.normal(size=(6, 8)), rng.normal(size=8), rng.normal(size=(8, 3))]
    data, labels = rng.normal(size=(20, 6)), rng.integers(0, 3, 20)
    ours = ad.grad(lambda w: loss(np, w, data, labels))(w)
    theirs = autograd.grad(lambda w: loss(anp, w, data, labels))(w)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-14)


MASKED = [
    (lambda x: np.where(x < 1, x, np.sqrt(x)), np.array([0.0, 0.5, 4.0]), [1, 1, 0.25]),
    (lambda x: np.where(x > 0, np.log(x), 0.0), np.array([0.0, 2.0]), [0, 0.5]),
    (lambda x: np.where(x > 0, x * np.sqrt(x) / x, 0.0), np.array([0.0, 4.0]), [0, 0.25]),
    (lambda x: np.where(x == 0, 1.0, np.sin(x) / x), np.array([0.0, np.pi]), [0, -1 / np.pi]),
    (
        lambda x: np.where(x[:, None] > 0, np.sqrt(x)[:, None] * np.ones(2), 0),
        np.array([0.0, 1]),
        [0, 1],
    ),
]


@pytest.mark.parametrize(("f", "x", "expected"), MASKED)
@pytest.mark.filterwarnings("ignore:invalid value", "ignore:divide by zero")
def test_a_masked_branch_contributes_nothing(f, x, expected):
    total = lambda x: np.sum(f(x))
    np.testing.assert_allclose(ad.grad(total)(x), expected)
    for i, unit in enumerate(np.eye(len(x))):
        assert ad.jvp(total, (x,), (unit,))[1] == pytest.approx(expected[i])
    assert np.all(np.isfinite(ad.hessian(total)(x)))


def test_a_genuine_product_of_zero_and_inf_is_still_nan():
    with np.errstate(all="ignore"):
        assert np.isnan(ad.grad(lambda x: np.sum(np.sqrt(x) * 0.0))(np.zeros(1)))[0]


def fill(x):
    y = np.zeros_like(x)
    y[0] = x[0] ** 2
    for i in range(1, len(x)):
        y[i] = y[i - 1] * x[i] + np.sin(x[i])
    return y


def edit(x):
    y = x.copy()
    y[1:3] = y[0] * 2
    y[[0, 4]] += x[2]
    y *= 3
    y -= np.exp(x)
    y[y < -5] = 1.0
    return y * x


def update(x):
    y = np.ones_like(x)
    y[:, 0] = x[:, 1] ** 2
    y[1] *= x[0]
    y += x
    np.multiply(y, 2.0, out=y)
    return y @ y.T


def put_everywhere(x):
    y, z = x.copy(), np.zeros_like(x)
    np.put_along_axis(y, np.array([[2], [0], [1]]), x[:, :1] ** 2, 1)
    np.put(y, [1, -1], x[0, :2] * 2)
    np.copyto(z, x * 3, where=M > 0)
    np.putmask(z, M < -0.5, x**2)
    np.place(z, M > 1, x[0, :2])
    np.fill_diagonal(y, x[0, 3])
    return y * z


WRITTEN = [("fill", fill, V), ("edit", edit, V), ("update", update, M), ("put", put_everywhere, M)]


@pytest.mark.parametrize(("name", "f", "x"), WRITTEN, ids=[case[0] for case in WRITTEN])
def test_arrays_that_are_written_to(name, f, x):
    test_value_forward_reverse(name, f, x)
    test_second_order(name, f, x)


def test_writing_does_not_change_what_was_computed_before():
    def f(x):
        y = np.zeros_like(x)
        y[0] = x[0]
        before = y * 10
        y[0] = x[1] * 100
        return np.sum(before) + np.sum(y)

    np.testing.assert_allclose(ad.grad(f)(np.array([1.0, 2.0])), [10, 100])


def test_methods_that_change_in_place():
    def f(x):
        y = x.copy()
        y.sort()
        z = np.zeros_like(x)
        w = z * x
        z.fill(x[0])
        return y[0] * 10 + np.sum(z) + np.sum(w)

    np.testing.assert_allclose(ad.grad(f)(np.array([3.0, 1.0])), [2, 10])
    with pytest.raises(ad.LostDerivativeError, match="not recorded"):
        ad.grad(lambda x: x.copy().resize(3))(V)


def test_what_cannot_be_written_to():
    with pytest.raises(ad.LostDerivativeError, match=r"y = x.copy\(\)"):
        ad.Node(V)[0] = 1.0
    with pytest.raises(ad.LostDerivativeError, match=r"np.zeros_like\(x\)"):
        ad.grad(lambda x: np.zeros(5).__setitem__(0, x[0]))(V)


def reused_buffer(x):
    buffer, total = np.zeros(3), 0.0
    for k in range(3):
        buffer[:] = k + 1
        total = total + np.sum(x * buffer)
    return total


def reused_mask(x):
    mask, total = np.array([True, False, False]), 0.0
    for k in range(2):
        total = total + np.sum(np.where(mask, x**2, x))
        mask[k + 1] = True
    return total


def reused_index(x):
    index, total = np.array([0, 1]), 0.0
    for _ in range(2):
        total = total + np.sum(x[index] ** 2)
        index += 1
    return total


def changed_later(x):
    y = np.ones_like(x)
    total = np.sum(x * y)
    y[0:2] += 5.0
    return total


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (reused_buffer, [6, 6, 6]),
        (reused_mask, [4, 5, 2]),
        (reused_index, [2, 8, 6]),
        (changed_later, [1, 1, 1]),
    ],
)
def test_arrays_changed_after_they_were_used(f, expected):
    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(ad.grad(f)(x), expected)
    np.testing.assert_allclose(ad.jacfwd(f)(x), expected)


def test_pullbacks_do_not_see_what_is_changed_before_they_are_called():
    x = np.array([1.0, 2.0])
    value, pullback = ad.vjp(lambda x: np.exp(x), x)
    x[:] = 0
    value[:] = 0
    np.testing.assert_allclose(pullback(np.ones(2))[0], np.exp([1.0, 2.0]))


@pytest.mark.parametrize(
    "action",
    [
        lambda x: np.cumsum(x, axis=5),
        lambda x: np.prod(x, axis=5),
        lambda x: np.moveaxis(x, 7, 0),
        lambda x: np.transpose(x, (0, 3)),
        lambda x: np.tensordot(x, np.ones((4, 3)), ([0, 1], [0, 1])),
        lambda x: np.quantile(x, -0.2),
        lambda x: np.quantile(x, ad.Node(0.5)),
        lambda x: np.quantile(x, [0.1, 1.6]),
        lambda x: np.gradient(x, 1.0, 2.0, 3.0),
        lambda x: np.gradient(x[:1]),
        lambda x: np.average(x, axis=0, weights=np.ones(2)),
        lambda x: np.max(x, where=M > 0),
        lambda x: np.cumulative_sum(x),
        lambda x: np.diff(x, -1),
        lambda x: np.convolve(x[0], np.ones(0)),
        lambda x: np.convolve(x[0], x[0], "most"),
        lambda x: np.einsum("ij,jk", x),
        lambda x: np.einsum("i", x),
        lambda x: np.einsum("ij->ijk", x),
        lambda x: np.cross(x, x),
        lambda x: np.stack([x, x[0]]),
        lambda x: np.concatenate([x[0, 0], x[0, 1]]),
        lambda x: np.select([x > 0], [x, x]),
        lambda x: np.pad(x, 1, "unknown"),
        lambda x: np.pad(x, 1, lambda *args: None),
        lambda x: np.cov(x[None, None]),
        lambda x: np.fft.fft(x, 0),
        lambda x: np.fft.fft(x, norm="none"),
        lambda x: np.fft.fftn(x, s=(3,), axes=(0, 1)),
        lambda x: np.fft.rfft(x * 1j),
        lambda x: np.linalg.svd(x),
        lambda x: np.linalg.qr(x.T, mode="complete"),
        lambda x: np.linalg.eigh(x @ x.T, UPLO="M"),
        lambda x: np.linalg.lstsq(np.outer(x[0], x[0]), V[:4]),
        lambda x: np.linalg.norm(x, 3),
        lambda x: np.linalg.norm(x[None], 1),
        lambda x: np.linalg.vector_norm(x, ord="fro"),
        lambda x: np.hypot.reduce(x[:0]),
        lambda x: np.add.at(x, 0, 1.0),
        lambda x: np.sum(x, out=np.zeros(())),
        lambda x: np.sum(x, axis=0, out=np.zeros_like(x)),
        lambda x: np.sum(x, dtype=int),
        lambda x: np.sin(x, out=np.zeros((3, 4))),
        lambda x: np.copyto(np.zeros((3, 4)), x),
        lambda x: np.full((3, 4), x),
        lambda x: np.histogram(x),
        lambda x: np.array([x, x]),
        lambda x: np.asarray(x),
        lambda x: x.item(),
        lambda x: x.view(np.int64),
        lambda x: x.fill(1.0),
        lambda x: np.linalg.norm(x[0], "nuc"),
        lambda x: np.zeros_like(x[0]).__iadd__(x),
        lambda x: np.zeros_like(x, dtype=int).__setitem__(0, x[0]),
        lambda x: np.unique(x),
    ],
)
def test_what_numpy_would_not_do_is_refused(action):
    with pytest.raises((ad.AutodiffError, np.exceptions.AxisError)):
        action(ad.Node(M))


def test_masked_arrays_and_matrices_are_refused():
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.matrix([[1.0]])
    for array in (np.ma.array([1.0, 2.0], mask=[0, 1]), matrix):
        with pytest.raises(ad.ValueKindError, match="ordinary array"):
            ad.grad(np.sum)(array)


def test_singular_points_and_large_numbers():
    np.testing.assert_array_equal(ad.grad(lambda x: np.linalg.norm(x, 3))(np.zeros(3)), np.zeros(3))
    np.testing.assert_array_equal(ad.grad(np.std)(np.ones(3)), np.zeros(3))
    large = np.array([3e200, 4e200])
    assert np.linalg.norm(ad.Node(large)).value == pytest.approx(5e200)
    np.testing.assert_allclose(ad.grad(np.linalg.norm)(large), [0.6, 0.8])


def test_gradients_can_be_written_to():
    gradient = ad.grad(np.sum)(V)
    gradient += 1
    np.testing.assert_array_equal(gradient, np.full(5, 2.0))


def test_stacks_of_systems_with_one_vector():
    stack = np.stack([Q, 2 * Q])
    solution = ad.vjp(lambda a: np.linalg.solve(a, V[:3]), stack)[0]
    np.testing.assert_allclose(
        solution, np.linalg.solve(stack, np.tile(V[:3, None], (2, 1, 1)))[..., 0]
    )


def test_results_are_written_where_out_says():
    def f(x):
        y, z = np.zeros_like(x), np.ones_like(x)
        np.multiply(x, 3.0, out=y)
        np.divide(y, x - V[0], out=z, where=V > 0.2)
        np.cumsum(x, out=y)
        return y * z

    mask = V > 0.2
    expected = lambda x: np.cumsum(x) * np.where(mask, 3 * x / np.where(mask, x - V[0], 1.0), 1.0)
    x = V + 0.1
    np.testing.assert_allclose(ad.vjp(f, x)[0], expected(x))
    direction = weights(x.shape)
    _, tangent = ad.jvp(f, (x,), (direction,))
    np.testing.assert_allclose(tangent, difference(expected, x, direction), atol=1e-6)


@pytest.mark.parametrize(
    "question",
    [
        lambda x: np.linalg.matrix_rank(x),
        lambda x: np.isin(x, [1.0]),
        lambda x: np.digitize(x, [0.0, 1.0]),
        lambda x: np.spacing(x),
        lambda x: np.logical_and(x > 0, x),
        lambda x: np.signbit(x),
        lambda x: np.nanargmax(x),
        lambda x: np.lexsort(x),
        lambda x: np.argpartition(x, 1),
        lambda x: np.einsum_path("ij,jk", x, M.T)[0],
        lambda x: np.tril_indices_from(x),
        lambda x: np.where(x),
        lambda x: np.array_equal(x, M),
        lambda x: x.astype(int),
        lambda x: x.nonzero(),
        lambda x: x.nbytes + x.itemsize,
        lambda x: x[0].searchsorted(0.0),
        lambda x: x.argsort(1),
        lambda x: np.bincount(np.argmax(x, axis=1)),
        lambda x: M[0, 0] in x,
        lambda x: np.logical_or.reduce(x > 0, axis=0),
    ],
)
def test_what_has_no_derivative_is_plain(question):
    expected, answer = question(M), question(ad.Node(M))
    np.testing.assert_equal(answer, expected)
    assert not isinstance(answer, ad.Node)


def test_order_of_operands():
    x = ad.Node(M)
    for result, expected in [
        (np.float64(2) * x, 2 * M),
        (M * x, M * M),
        (M.T @ x, M.T @ M),
        (np.ones((2, 3)) @ x, np.ones((2, 3)) @ M),
        ([1.0, 2.0, 3.0] @ x, np.array([1.0, 2.0, 3.0]) @ M),
        (np.float32(1) - x, 1 - M),
        (x - [1, 2, 3, 4], M - [1, 2, 3, 4]),
    ]:
        assert isinstance(result, ad.Node)
        np.testing.assert_array_equal(result.value, expected)


def test_what_is_missing_says_what_is_near():
    with pytest.raises(ad.RuleError, match=r"np.histogram\. Counts do not change.*five lines"):
        np.histogram(ad.Node(V))
    with pytest.raises(ad.RuleError, match=r"np.sort_complex.*take those elements"):
        np.sort_complex(ad.Node(V))
    with pytest.raises(ad.LostDerivativeError, match=r"np.array\(\[a, b\]\) write np.stack"):
        np.array([ad.Node(1.0), ad.Node(2.0)])
    with pytest.raises(ad.LostDerivativeError, match=r"typed by hand.* y\[\.\.\.\] = "):
        np.put(ad.Node(V), 0, 1.0)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("shapes", [((3,), (3,)), ((2, 3), (3,)), ((3,), (2, 1)), ((), (3,))])
def test_quotients_of_every_pair_of_shapes(shapes, kind):
    x, y = (
        np.linspace(start, start + 1, int(np.prod(s))).reshape(s)
        for s, start in zip(shapes, (1, 2), strict=True)
    )
    x, y = x.astype(kind)[()], y.astype(kind)[()]
    weights = np.cos(np.arange(np.size(x / y), dtype=kind)).reshape(np.shape(x / y))
    of_x, of_y = ad.grad(lambda x, y: np.sum(weights * (x / y) / 4), (0, 1))(x, y)
    for found, like, full in ((of_x, x, weights / y / 4), (of_y, y, -weights * x / y**2 / 4)):
        lead = tuple(range(full.ndim - np.ndim(like)))
        expected = full.sum(lead)
        ones = tuple(i for i, n in enumerate(np.shape(like)) if n == 1)
        expected = expected.sum(ones, keepdims=True) if ones else expected
        np.testing.assert_allclose(found, expected, rtol=1e-5 if kind is np.float32 else 1e-13)
        assert found.dtype == kind
        assert np.shape(found) == np.shape(like)


def test_a_quotient_by_a_whole_number_or_by_nothing():
    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(ad.grad(lambda x: np.sum(x * x) / 4)(x), x / 2)
    np.testing.assert_array_equal(ad.grad(lambda x: np.mean(x / 8))(x), [1 / 16, 1 / 16])
    with np.errstate(all="ignore"):
        slope = ad.grad(lambda y: np.sum(x / y))(np.array([0.0, -0.0]))
    np.testing.assert_array_equal(slope, [-np.inf, -np.inf])


@pytest.mark.parametrize(
    "ufunc", [np.maximum, np.minimum, np.fmax, np.fmin, np.logaddexp, np.logaddexp2, np.hypot]
)
def test_accumulating_many(ufunc):
    x = np.sin(np.arange(600.0) ** 2).reshape(2, 300)
    weights = np.cos(np.arange(600.0)).reshape(2, 300)

    def f(x):
        return np.sum(weights * ufunc.accumulate(x, axis=1))

    def one_by_one(x):
        results = [x[:, 0]]
        for k in range(1, 300):
            results.append(ufunc(results[-1], x[:, k]))
        return np.sum(weights * np.stack(results, 1))

    value, gradient = ad.value_and_grad(f)(x)
    np.testing.assert_allclose(value, f(x), rtol=1e-12)
    np.testing.assert_allclose(gradient, ad.grad(one_by_one)(x), rtol=1e-10, atol=1e-12)
    compiled = ad.jit(ad.grad(f), tier="optimised")
    np.testing.assert_allclose(compiled(x), gradient, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(compiled(-x), ad.grad(f)(-x), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("ufunc", [np.logaddexp, np.logaddexp2])
@pytest.mark.parametrize(
    "special",
    [
        [0.0, -50.0],
        [np.inf, 1.0],
        [-np.inf, 1.0],
        [np.nan, 0.0],
        [1000.0, 1001.0],
        [-1e308, -1e308],
    ],
)
def test_long_sums_of_powers_are_those_of_numpy(ufunc, special):
    x = np.concatenate([special, np.full(20, -np.inf)])
    with np.errstate(invalid="ignore"):
        value, gradient = ad.value_and_grad(ufunc.reduce)(x)
        np.testing.assert_allclose(value, ufunc.reduce(x), rtol=1e-15)
    base = np.e if ufunc is np.logaddexp else 2.0
    if np.isfinite(value):
        top = np.max(x)
        np.testing.assert_allclose(gradient, base ** (x - top) / np.sum(base ** (x - top)), 1e-13)
    nothing = np.full(20, -np.inf)
    with np.errstate(all="ignore"):
        assert ad.value_and_grad(ufunc.reduce)(nothing)[0] == -np.inf


@pytest.mark.parametrize("full", [(0, 3, 3), (2, 0, 0)])
@pytest.mark.parametrize(
    "f",
    [
        np.linalg.eigvalsh,
        lambda a: np.linalg.eigh(a)[1],
        lambda a: np.linalg.svd(a, hermitian=True)[0],
        lambda a: np.linalg.svd(a, hermitian=True, compute_uv=False),
    ],
)
def test_eigenvalues_of_no_matrices_at_all(f, full):
    total, a = (lambda a: np.sum(f(a))), np.zeros(full)
    assert ad.grad(total)(a).shape == full
    assert ad.jvp(total, (a,), (a,)) == (0, 0)
    assert ad.hessian(total)(a).shape == full + full


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.complex128])
def test_the_norm_that_counts_does_not_change(kind):
    x = np.array([[2, 0, -3], [0, 0, np.nan if kind is not np.complex128 else 1]]).astype(kind)
    f = lambda x: np.linalg.norm(x, 0, axis=1)
    value, change = ad.jvp(f, (x,), (np.ones_like(x),))
    np.testing.assert_array_equal(value, f(x))
    np.testing.assert_array_equal(change, [0, 0])
    assert value.dtype == f(x).dtype
    np.testing.assert_array_equal(ad.grad(lambda x: np.sum(f(x)))(x.real), np.zeros((2, 3)))


def test_what_choose_does_not_choose_does_not_count():
    a = np.array([2.0, 0.0])
    with np.errstate(divide="ignore"):
        gradient = ad.grad(lambda a: np.sum(np.choose([0, 1], [np.log(a), a])))(a)
    np.testing.assert_array_equal(gradient, [0.5, 1])


def test_choose_takes_modes_and_broadcasts():
    a = np.array([2.0, 3.0])
    outside = np.array([[-1], [0], [4]])
    for mode in ("wrap", "clip"):
        f = lambda a: np.choose(outside, [a**2, 7, a], mode=mode)  # noqa: B023
        value, change = ad.jvp(f, (a,), (np.ones(2),))
        np.testing.assert_array_equal(value, f(a))
        which = np.choose(outside, [0, 1, 2], mode=mode)
        expected = np.where(which == 0, 2 * a, np.where(which == 1, 0, 1.0))
        np.testing.assert_array_equal(change, expected)
    alone = ad.jvp(lambda a: np.choose(np.zeros((3, 1), int), [a]), (a,), (a,))[0]
    np.testing.assert_array_equal(alone, [a, a, a])
    narrow = a.astype(np.float32)
    assert ad.jvp(lambda a: np.choose([0, 1], [a, 2.0]), (narrow,), (narrow,))[0].dtype == "f4"


def test_choose_refuses_what_is_outside():
    f = lambda i, a: np.choose(i, [a, 2 * a])
    a, outside = np.array([2.0, 3.0]), np.array([0, 2])
    for run in (lambda i, a: ad.grad(lambda a: np.sum(f(i, a)))(a), ad.vmap(f), ad.jit(f)):
        run(np.array([0, 1]), a)
        with pytest.raises(ValueError, match="choice"):
            run(outside, a)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.r_[x, 1.0],
        lambda x: np.r_[2, x, 1],
        lambda x: np.r_[x[0], 1.0],
        lambda x: np.r_[x, np.float64(1)],
        lambda x: np.r_[0:2, x],
        lambda x: np.frexp(x[0])[0],
        lambda x: np.polyval(x, 1.3),
        lambda x: np.polyval(x, 2),
        np.polyder,
        lambda x: np.polyder(x, 0),
        np.polyint,
        np.vander,
        lambda x: np.geomspace(x[0], x[1], 4),
        lambda x: np.interp(np.float32([1]), x, np.float32([0, 1, 4])),
        lambda x: np.interp(np.float32([1]), np.float32([0, 1, 4]), x),
    ],
)
def test_the_very_kind_that_numpy_gives(f, kind):
    x = np.array([0.5, 1.5, 2.5], kind)
    value, change = ad.jvp(f, (x,), (x,))
    expected = f(x)
    assert (value.dtype, change.dtype) == (expected.dtype, expected.dtype)
    np.testing.assert_allclose(value, expected, rtol=1e-3)
    assert ad.grad(lambda x: np.sum(f(x)))(x).dtype == kind
