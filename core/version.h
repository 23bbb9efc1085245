#pragma once

namespace aorta {

/// The version of the library that runs, as "MAJOR.MINOR.PATCH".
const char* version();

}  // namespace aorta
