#pragma once

#include <aorta/core/process/zygote.h>

#include <exception>
#include <new>

// What the processes have in common that zygote.cc and spawn.cc start.
namespace aorta {

/// Says on the standard error what ended this process.
void say_of_process(const char* text);
/// Devices are refused from now on, numeric threads are one.
void become_worker();
/// Ends this process when another one ends.
void die_with_program(pid_t program);

/// The child's half of a start. Never returns, not by an exception either: what called belongs to
/// the parent.
template <class Body>
[[noreturn]] void run_child(const Body& body) {
  try {
    become_worker();
    body();
    exit_process(0);
  } catch (const std::bad_alloc&) {
    say_of_process("process: memory must be there, got too little");
  } catch (const std::exception& error) {
    say_of_process(error.what());
  }
  exit_process(1);
}

/// Whether init() was called.
bool is_init_called();
/// start_process() by StartMethod::spawn.
StartedProcess spawn_process(ProcessMain main, std::string_view payload,
                             std::span<const int> descriptors);
/// In a process that spawn_process() started, does what it was started for and ends; else returns.
/// init() calls it.
void run_if_spawned();

}  // namespace aorta
