"""Lists of ops that are compiled in parts: together they would be slow files."""

PARTS = {
    "pointwise": 8,  # kPointwiseParts in pointwise.h
    "reduction": 4,  # kReductionParts in reduction.h
}
