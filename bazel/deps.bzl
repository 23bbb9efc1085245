"""What Aorta takes from the machine: @system (C++ libraries) and @local_config_cuda.

An outside workspace that embeds the source tree calls `aorta_dependencies()` too.
`apt` has the Debian package that an error names for each; tools/setup.sh installs them all.
"""

load(":cuda_configure.bzl", "cuda_configure")
load(":system.bzl", "system_libraries")

def aorta_dependencies():
    system_libraries(
        name = "system",
        # target: pkg-config module
        packages = {
            "avcodec": "libavcodec",
            "avformat": "libavformat",
            "avutil": "libavutil",
            "benchmark": "benchmark",
            "eigen": "eigen3",
            "fmt": "fmt",
            "gmock": "gmock",
            "gtest": "gtest",
            "jpeg": "libjpeg",
            "lmdb": "lmdb",
            "mpi": "mpi-c",
            "nlohmann_json": "nlohmann_json",
            "png": "libpng",
            "webp": "libwebp",
            "zlib": "zlib",
        },
        # target: a header that must exist, and its link flags, for libraries without a .pc file.
        headers = {
            "cli11": "/usr/include/CLI/CLI.hpp",
            "dcmtk": "/usr/include/dcmtk/dcmdata/dctk.h",
            "dlpack": "/usr/include/dlpack/dlpack.h",
            "dnnl": "/usr/include/dnnl.h",
            "onnx_proto": "/usr/include/onnx/onnx_pb.h",
            "opencv_core": "/usr/include/opencv4/opencv2/core.hpp",
            "opencv_imgproc": "/usr/include/opencv4/opencv2/imgproc.hpp",
            "opencv_videoio": "/usr/include/opencv4/opencv2/videoio.hpp",
        },
        header_link_flags = {
            "dcmtk": "-ldcmjpeg -ldcmjpls -ldcmdata -loflog -lofstd",
            "dnnl": "-ldnnl",
            "onnx_proto": "-lonnx_proto -lprotobuf",
            "opencv_core": "-lopencv_core",
            "opencv_imgproc": "-lopencv_imgproc -lopencv_core",
            "opencv_videoio": "-lopencv_videoio -lopencv_imgcodecs -lopencv_imgproc -lopencv_core",
        },
        header_include_dirs = {
            "opencv_core": "/usr/include/opencv4",
            "opencv_imgproc": "/usr/include/opencv4",
            "opencv_videoio": "/usr/include/opencv4",
        },
        apt = {
            "avcodec": "libavcodec-dev",
            "avformat": "libavformat-dev",
            "avutil": "libavutil-dev",
            "benchmark": "libbenchmark-dev",
            "cli11": "libcli11-dev",
            "dcmtk": "libdcmtk-dev",
            "dlpack": "libdlpack-dev",
            "dnnl": "libdnnl-dev",
            "eigen": "libeigen3-dev",
            "fmt": "libfmt-dev",
            "gmock": "libgmock-dev",
            "gtest": "libgtest-dev",
            "jpeg": "libjpeg62-turbo-dev",
            "lmdb": "liblmdb-dev",
            "mpi": "libopenmpi-dev",
            "nlohmann_json": "nlohmann-json3-dev",
            "onnx_proto": "libonnx-dev",
            "opencv_core": "libopencv-core-dev",
            "opencv_imgproc": "libopencv-imgproc-dev",
            "opencv_videoio": "libopencv-videoio-dev",
            "png": "libpng-dev",
            "webp": "libwebp-dev",
            "zlib": "zlib1g-dev",
        },
    )
    cuda_configure(name = "local_config_cuda")
