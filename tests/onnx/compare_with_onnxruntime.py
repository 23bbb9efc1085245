#!/usr/bin/env python3
"""Holds the files that onnx::save writes to onnx.checker and to onnxruntime's results, within 1e-5.

    AORTA_ONNX_SAVED=FOLDER bazel-bin/tests/onnx/onnx_test --gtest_filter='*Saved*'
    python3 tests/onnx/compare_with_onnxruntime.py FOLDER

The test leaves NAME.onnx and NAME.npz there: inputs in0, in1, ... of another batch size than the one that the network
was recorded with, and Aorta's outputs out0, out1, ... A difference counts relative to 1 plus the value. Without onnx and
onnxruntime nothing is compared, and that is said.
"""

import glob
import os
import sys

TOLERANCE = 1e-5


def difference(mine, theirs):
    """The largest |a - b| / (1 + |b|); what is infinite or NaN must be so in both."""
    import numpy
    if mine.shape != theirs.shape or mine.dtype != theirs.dtype:
        return float("inf")
    if mine.size == 0:
        return 0.0
    if mine.dtype.kind != "f":
        return 0.0 if (mine == theirs).all() else float("inf")
    a, b = mine.astype(numpy.float64), theirs.astype(numpy.float64)
    same = (a == b) | (numpy.isnan(a) & numpy.isnan(b))
    with numpy.errstate(invalid="ignore"):
        apart = numpy.where(same, 0, numpy.abs(a - b) / (1 + numpy.abs(b)))
    return float("inf") if numpy.isnan(apart).any() else float(apart.max())


def compare(path):
    import numpy
    import onnx
    import onnxruntime
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    values = numpy.load(path[:-len(".onnx")] + ".npz")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feed = {given.name: values["in%d" % i] for i, given in enumerate(session.get_inputs())}
    worst = 0.0
    for i, result in enumerate(session.run(None, feed)):
        apart = difference(values["out%d" % i], result)
        if apart > TOLERANCE:
            print("  output %d: %g apart, %s %s and %s %s" % (i, apart, values["out%d" % i].dtype,
                                                             values["out%d" % i].shape, result.dtype, result.shape))
        worst = max(worst, apart)
    return worst, len(model.graph.node)


def main(folder):
    try:
        import onnx
        import onnxruntime
    except ImportError as missing:
        print("skipped: %s" % missing)
        return 0
    paths = sorted(glob.glob(os.path.join(folder, "*.onnx")))
    if not paths:
        print("there must be files NAME.onnx in the folder, got none in %s" % folder)
        return 1
    print("onnx %s, onnxruntime %s" % (onnx.__version__, onnxruntime.__version__))
    failed = 0
    for path in paths:
        name = os.path.basename(path)[:-len(".onnx")]
        try:
            worst, nodes = compare(path)
        except Exception as problem:  # of any library
            print("%-40s FAILED: %s" % (name, str(problem).splitlines()[0]))
            failed += 1
            continue
        print("%-40s %5d nodes, %.1e%s" % (name, nodes, worst, "" if worst <= TOLERANCE else " FAILED"))
        failed += worst > TOLERANCE
    print("%d of %d within %g" % (len(paths) - failed, len(paths), TOLERANCE))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
