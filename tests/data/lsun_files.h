#pragma once

#include <aorta/core/tensor.h>

#include <map>
#include <string>
#include <vector>

namespace aorta::data {

/// What libwebp makes of an image u8 (C, H, W) of 3 or 4 channels; 100 keeps every pixel.
std::string webp_of(const Tensor& image, float quality = 100);

/// What libwebp reads, u8 (3, H, W).
Tensor webp_pixels(const std::string& bytes);

/// A film of one image twice.
std::string animated_webp(const Tensor& image);

/// A database that liblmdb writes into `folder`, the values in the order of `written`, or, where
/// that is empty, of their keys.
void write_lmdb(const std::string& folder, const std::map<std::string, std::string>& values,
                const std::vector<std::string>& written = {});

/// A database of a database's name; or one whose keys have several values.
void write_named_lmdb(const std::string& folder, bool several);

/// The keys in the order of liblmdb's cursor.
std::vector<std::string> lmdb_keys(const std::string& folder);

}  // namespace aorta::data
