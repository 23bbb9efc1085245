#pragma once

namespace aorta::data {

/// The channels of a decoded image: as stored, one (brightness), or three (red, green, blue).
enum class ImageMode { unchanged, gray, rgb };

}  // namespace aorta::data
