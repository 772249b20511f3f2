"""The toy example, Figure 2: noisy monotone regression in one dimension."""
