"""torch.nn.functional on nodes: PyTorch's own gradients, or a refusal that says what to write."""

import numpy as np
import pytest

import simpleautodiff as ad

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
F = torch.nn.functional

X = torch.tensor([[0.3, -1.2, 0.8], [2.0, 0.1, -0.4]], dtype=torch.float64)
W = torch.tensor([[0.5, -0.3, 0.2], [0.1, 0.9, -0.7]], dtype=torch.float64)
CLASSES = torch.tensor([2, 0])
CALLS = {
    "linear": lambda x: F.linear(x, W, torch.ones(2, dtype=torch.float64)),
    "relu": F.relu,
    "leaky_relu": lambda x: F.leaky_relu(x, 0.2),
    "elu": lambda x: F.elu(x, alpha=0.7),
    "silu": F.silu,
    "gelu": F.gelu,
    "gelu by tanh": lambda x: F.gelu(x, approximate="tanh"),
    "softplus": lambda x: F.softplus(x, beta=2.0),
    "logsigmoid": F.logsigmoid,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "softmax": lambda x: F.softmax(x, dim=-1),
    "log_softmax": lambda x: F.log_softmax(x, dim=0),
    "mse_loss": lambda x: F.mse_loss(x, 2 * X),
    "mse_loss, sum": lambda x: F.mse_loss(x, 2 * X, reduction="sum"),
    "l1_loss": lambda x: F.l1_loss(x, 2 * X, reduction="none"),
    "cross_entropy": lambda x: F.cross_entropy(x, CLASSES),
    "nll_loss": lambda x: F.nll_loss(F.log_softmax(x, dim=1), CLASSES),
    "with logits": lambda x: F.binary_cross_entropy_with_logits(x, torch.sigmoid(X)),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_gradients_are_those_of_pytorch(call):
    own = X.clone().requires_grad_()
    torch.sum(torch.sin(call(own))).backward()
    value, gradient = ad.value_and_grad(lambda x: np.sum(np.sin(call(x))))(X)
    assert isinstance(gradient, torch.Tensor)
    torch.testing.assert_close(gradient, own.grad, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(torch.as_tensor(value), torch.sum(torch.sin(call(X))))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: F.relu(x, inplace=True), "inplace"),
        (lambda x: F.conv1d(x[None], W[None]), r"torch\.conv1d of a node is not answered"),
        (lambda x: F.dropout(x), "not answered"),
        (lambda x: F.cross_entropy(x, CLASSES, label_smoothing=0.1), "label_smoothing"),
        (lambda x: F.mse_loss(x, X, reduction="median"), "reduction|not a valid"),
    ],
)
def test_what_is_not_answered_is_refused(call, message):
    with pytest.raises((ad.AutodiffError, ValueError), match=message):
        ad.grad(lambda x: np.sum(call(x)))(X)
