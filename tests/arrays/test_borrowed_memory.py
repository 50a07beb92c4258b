"""Arrays whose memory belongs to another object: used, never changed, given back as they were."""

import ctypes
from multiprocessing import shared_memory

import jax
import numpy as np
import pytest

import simpleautodiff as ad

SIZE = 50_000


class Interface:
    """An object of another library that shows its memory to NumPy."""

    def __init__(self, read_only):
        self.memory = (ctypes.c_double * SIZE)(*range(SIZE))
        address = ctypes.addressof(self.memory)
        self.__array_interface__ = {
            "shape": (SIZE,),
            "typestr": "<f8",
            "data": (address, read_only),
            "version": 3,
        }


class Capsule:
    """What `np.from_dlpack` asks."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **how):
        return self.array.__dlpack__(**how)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def from_dlpack(tmp_path):
    return np.from_dlpack(Capsule(np.arange(float(SIZE))))


def from_jax(tmp_path):
    with jax.enable_x64(True):
        return np.asarray(jax.numpy.arange(float(SIZE)))


def from_interface(tmp_path):
    return np.asarray(Interface(False))


def from_read_only_interface(tmp_path):
    return np.asarray(Interface(True))


def from_bytes(tmp_path):
    return np.frombuffer(np.arange(float(SIZE)).tobytes())


def from_bytearray(tmp_path):
    return np.frombuffer(bytearray(np.arange(float(SIZE)).tobytes()))


def mapped(mode):
    def make(tmp_path):
        np.arange(float(SIZE)).tofile(tmp_path / "numbers")
        return np.memmap(tmp_path / "numbers", np.float64, mode)

    make.__name__ = f"mapped {mode}"
    return make


def read_only(tmp_path):
    array = np.arange(float(SIZE))
    array.flags.writeable = False
    return array


def read_only_view(tmp_path):
    array = np.arange(float(SIZE))
    view = array[:]
    view.flags.writeable = False
    return view


def broadcast(tmp_path):
    return np.broadcast_to(np.arange(float(SIZE // 10)), (10, SIZE // 10))


MAKERS = [
    from_dlpack,
    from_jax,
    from_interface,
    from_read_only_interface,
    from_bytes,
    from_bytearray,
    mapped("r"),
    mapped("r+"),
    mapped("c"),
    read_only,
    read_only_view,
    broadcast,
]


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("part", [lambda a: a, lambda a: a[5:], lambda a: a.T[::2]])
def test_arrays_of_others_are_left_as_they_were(make, part, tmp_path):
    whole = make(tmp_path)
    array = part(whole)
    before, flags = array.copy(), (whole.flags.writeable, array.flags.writeable)
    ours = np.linspace(0.0, 1.0, array.size).reshape(array.shape)
    for _ in range(2):
        np.testing.assert_array_equal(ad.grad(lambda x: np.sum(x * array))(ours), before)
        np.testing.assert_array_equal(ad.grad(lambda x: np.sum(x * x))(array), 2 * before)
        assert (whole.flags.writeable, array.flags.writeable) == flags
    other = np.ones(SIZE)
    np.testing.assert_array_equal(ad.grad(lambda x: np.sum(x * other))(np.ones(SIZE)), other)
    assert other.flags.writeable


def test_shared_memory():
    memory = shared_memory.SharedMemory(create=True, size=8 * SIZE)
    try:
        array = np.ndarray(SIZE, np.float64, memory.buf)
        array[:] = 3.0
        gradient = ad.grad(lambda x, c: np.sum(x * c))(np.ones(SIZE), array)
        assert array.flags.writeable
        np.testing.assert_array_equal(gradient, np.full(SIZE, 3.0))
        del array  # memory that NumPy still looks at cannot be closed
    finally:
        memory.close()
        memory.unlink()


def test_tensors_of_pytorch_stay_writeable():
    torch = pytest.importorskip("torch", reason="PyTorch is large and optional")
    array = torch.arange(SIZE, dtype=torch.float64).numpy()
    for _ in range(2):
        gradient = ad.grad(lambda x: np.sum(x * array))(np.ones(SIZE))
        np.testing.assert_array_equal(gradient, np.arange(SIZE))
        assert array.flags.writeable
    other = np.ones(SIZE)
    np.testing.assert_array_equal(ad.grad(lambda x: np.sum(x * other))(other), other)


@pytest.mark.parametrize("make", [from_interface, mapped("r+"), from_bytearray])
def test_what_is_written_to_them_later_does_not_reach_the_derivative(make, tmp_path):
    array = make(tmp_path)
    before = array.copy()

    def f(x):
        y = x * array
        array[:] = -1.0
        return np.sum(y)

    np.testing.assert_array_equal(ad.grad(f)(np.ones(SIZE)), before)


def test_a_function_that_raises_leaves_them_as_they_were(tmp_path):
    array, own = from_interface(tmp_path), np.ones(SIZE)

    def f(x):
        y = x * array * own
        raise KeyError(float(y.value[0]))

    with pytest.raises(KeyError):
        ad.grad(f)(np.ones(SIZE))
    assert array.flags.writeable
    assert own.flags.writeable
