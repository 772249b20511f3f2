"""monolip: neural networks whose partial derivatives provably stay inside intervals you choose."""
