// Stands for the NVIDIA driver: Aorta loads its CUDA plugin where a library of this name is.
extern "C" int aorta_emulated_driver() { return 0; }
