#pragma once

#include <aorta/tests/op_catalog.h>

#include <map>
#include <string>

// Whether a row's samples tell wrong results from right ones.
namespace aorta::catalog {

/// The mutants of a row's calls, and whether a sample of the call catches each:
///   "CALL: output I off in DTYPE"       one element, by 1e-9 of itself in f64, 1e-4 in f32, a few
///                                       units in the last place of half types, 1 of integers
///   "CALL: output I reversed"           and "rolled": the elements in another order
///   "CALL: outputs I and J exchanged"   of one shape and dtype
///   "CALL: input I alike"               all elements of the input are its first one
///   "CALL: inputs I and J exchanged"
///   "CALL: runs OTHER"                  another call of the row, with other options
std::map<std::string, bool> result_mutants(const Row& row);

}  // namespace aorta::catalog
