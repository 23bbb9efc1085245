"""The parsers that are fuzzed: FORMAT_fuzz.cc, corpus/FORMAT and FORMAT.dict."""

FORMATS = [
    "avi",
    "csv",
    "gzip",
    "idx",
    "image",
    "jpeg",
    "lmdb",
    "npy",
    "npz",
    "onnx",
    "safetensors",
    "state",
    "tables",
    "yaml",
]
