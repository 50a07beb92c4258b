"""The paper's engine: nodes, orders, and the chain rule along them, forward and reverse."""
