"""Reads the files that interop_test.cc wrote with numpy and safetensors, and writes some for it to read.

interop.py FOLDER. Prints a line for each check; the last says which packages were there.
"""
import os
import sys

try:
    import numpy as np
except ImportError:
    print("no numpy")
    sys.exit(77)
try:
    import safetensors
    import safetensors.numpy as st
except ImportError:
    st = None

FOLDER = sys.argv[1]
CODES = ["f2", "f4", "f8", "i4", "i8", "u1", "b1"]


def values(code, shape):
    """The formula of fixtures.h."""
    k = np.arange(int(np.prod(shape)), dtype="i8").reshape(shape)
    return {"b": k % 2, "u": k, "i": k - 2, "f": (k - 2) / 2}[code[0]].astype(code)


def check(name, array, code, shape):
    assert array.dtype == np.dtype(code), (name, array.dtype)
    assert array.shape == shape, (name, array.shape)
    assert np.array_equal(array, values(code, shape)), (name, array)
    print("ok", name)


def path(name):
    return os.path.join(FOLDER, name)


for code in CODES:
    check(code + ".npy", np.load(path(code + ".npy")), code, (2, 3))
    mapped = np.load(path(code + ".npy"), mmap_mode="r")
    check(code + ".npy mapped", mapped, code, (2, 3))
for name in ["stored.npz", "deflated.npz", "zip64.npz"]:
    with np.load(path(name)) as arrays:
        assert sorted(arrays.files) == sorted(CODES), arrays.files
        for code in CODES:
            check(name + " " + code, arrays[code], code, (2, 3))
arrays = {code: values(code, (2, 3)) for code in CODES}
np.savez(path("python_stored.npz"), **arrays)
np.savez_compressed(path("python_deflated.npz"), **arrays)
np.save(path("python_fortran.npy"), np.asfortranarray(values("f4", (4, 5, 6))))

if st:
    tensors = st.load_file(path("ours.safetensors"))
    assert sorted(tensors) == sorted(CODES), sorted(tensors)
    for code in CODES:
        check("ours.safetensors " + code, tensors[code], code, (2, 3))
    with safetensors.safe_open(path("ours.safetensors"), "np") as f:
        assert f.metadata()["note"] == "\u00e4 \"quoted\"", f.metadata()
    st.save_file(arrays, path("python.safetensors"), metadata={"from": "python"})
print("numpy", np.__version__, "safetensors", safetensors.__version__ if st else "not installed: left out")
