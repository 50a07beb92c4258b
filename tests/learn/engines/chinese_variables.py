"""自动微分作业：反向模式"""

import math


class 变量:
    def __init__(self, 值, 父节点=(), 局部导数=()):
        self.值 = 值
        self.父节点 = 父节点
        self.局部导数 = 局部导数
        self.梯度 = 0.0

    def __add__(self, 其他):
        其他 = 其他 if isinstance(其他, 变量) else 变量(其他)
        return 变量(self.值 + 其他.值, (self, 其他), (1.0, 1.0))

    def __mul__(self, 其他):
        其他 = 其他 if isinstance(其他, 变量) else 变量(其他)
        return 变量(self.值 * 其他.值, (self, 其他), (其他.值, self.值))

    def __sub__(self, 其他):
        return self + (-1) * (其他 if isinstance(其他, 变量) else 变量(其他))

    def __rsub__(self, 其他):
        return 变量(其他) - self

    def __neg__(self):
        return self * -1

    __radd__ = __add__
    __rmul__ = __mul__

    def 反向传播(self):
        顺序, 已访问 = [], set()

        def 访问(节点):
            if id(节点) in 已访问:
                return
            已访问.add(id(节点))
            for 父 in 节点.父节点:
                访问(父)
            顺序.append(节点)

        访问(self)
        for 节点 in 顺序:
            节点.梯度 = 0.0
        self.梯度 = 1.0
        for 节点 in 顺序[::-1]:
            for 父, 导数 in zip(节点.父节点, 节点.局部导数, strict=False):
                父.梯度 += 导数 * 节点.梯度


def sin(x):
    return 变量(math.sin(x.值), (x,), (math.cos(x.值),))


def log(x):
    return 变量(math.log(x.值), (x,), (1 / x.值,))
