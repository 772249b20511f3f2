"""ChestXRay end to end: an image backbone and a monotone head, trained together; needs a CUDA GPU at full size."""

OURS, THEIRS = "monolip", "unconstrained head"  # names of the two heads in the results
