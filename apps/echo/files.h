#pragma once

#include <aorta/apps/echo/failure.h>

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace aorta::echo {

/// A field of a CSV record: in quotes where it has to be (RFC 4180).
std::string csv_field(std::string_view text);

/// Removes half-written files of killed processes from the folder of the file.
void remove_abandoned_beside(const std::string& file);

/// Writes a file whole or not at all, and removes half-written ones beside it. Throws a Failure of
/// storage.
void write_file(const std::string& path, std::string_view text);

/// Makes a folder with all above it unless it is there, and looks whether files can be written to
/// it; what killed programs left half-written in it goes. Throws a Failure of the environment.
void make_folder(const std::string& path);

/// The data folder that is meant: `data_dir`, or where that is empty what AORTA_ECHO names. Throws
/// a Failure of usage where neither does.
std::string data_folder(const std::string& data_dir);

/// Whether that folder has VolumeTracings.csv, which a segmenter learns from and a network of clips
/// doesn't.
bool has_tracings(const std::string& data_dir);

/// Throw a Failure of usage: "--batch_size: must be positive, got 0".
template <class T>
void check_positive(const char* flag, T value) {
  if (!(value > 0))
    throw Failure(ExitCode::usage, fmt::format("{}: must be positive, got {}", flag, value));
}
template <class T>
void check_not_negative(const char* flag, T value) {
  if (!(value >= 0))
    throw Failure(ExitCode::usage, fmt::format("{}: must not be negative, got {}", flag, value));
}
/// Processes that read: 0 to the most that a loader has.
void check_workers(const char* flag, int value);

/// Whether something, or a folder, is there. Throw a Failure of the environment where the system
/// can't tell, for what is taken for absent is written over.
bool is_there(const std::string& path);
bool is_folder(const std::string& path);

/// The path from the root, for a person; as it is where the present folder can't be told.
std::string absolute_path(const std::string& path);

/// The last part of a path without its suffix: "heart" of "videos/heart.avi".
std::string stem_of(const std::string& path);

/// Throws a Failure of code 128 + the signal's number when the program was asked to end (see
/// interrupt.h): "stopped by Ctrl-C: `kept`".
void stop_if_interrupted(const std::string& kept = "files that were written are whole");

}  // namespace aorta::echo
