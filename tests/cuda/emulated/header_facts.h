#pragma once

#include <map>
#include <string>

namespace aorta::emulated {

/// Numbers, sizes, places and types by name, as our headers have them, and the toolkit's.
std::map<std::string, std::string> own_facts();
std::map<std::string, std::string> toolkit_facts();
/// Such facts of NCCL's headers; empty where the toolkit has no NCCL.
std::map<std::string, std::string> own_nccl_facts();
std::map<std::string, std::string> toolkit_nccl_facts();
/// And cuDNN's.
std::map<std::string, std::string> own_cudnn_facts();
std::map<std::string, std::string> toolkit_cudnn_facts();

/// And cuFFT's and cuSOLVER's.
std::map<std::string, std::string> own_library_facts();
std::map<std::string, std::string> toolkit_library_facts();

}  // namespace aorta::emulated
