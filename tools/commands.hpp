#pragma once

#include <CLI/CLI.hpp>

/// The subcommands of `weir`: each adds itself to the program, does its work in its callback, and says how it went with
/// `set_exit_code`. 0: done; 1: the work failed; 2: wrong use or settings.
namespace weir::tools {

void add_info(CLI::App& program);
void add_machine(CLI::App& program);
void add_memory(CLI::App& program);
void add_bench(CLI::App& program);
void add_box(CLI::App& program);
void add_drain(CLI::App& program);
void add_plan(CLI::App& program);
void add_run(CLI::App& program);
void add_sim(CLI::App& program);

void set_exit_code(int code) noexcept;
int exit_code() noexcept;

}  // namespace weir::tools
