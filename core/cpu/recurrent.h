#pragma once

#include <aorta/core/body/recurrent.h>
#include <aorta/core/cpu/isa.h>

namespace aorta::cpu {

/// Rows [first, end) of the batch.
struct RecurrentRows {
  void (*lstm)(const body::LstmArgs& args, int64_t first, int64_t end);
  void (*lstm_backward)(const body::LstmBackwardArgs& args, int64_t first, int64_t end);
  void (*gru)(const body::GruArgs& args, int64_t first, int64_t end);
  void (*gru_backward)(const body::GruBackwardArgs& args, int64_t first, int64_t end);
};

AORTA_EACH_ISA(const RecurrentRows& recurrent_rows(DType dtype);)

}  // namespace aorta::cpu
