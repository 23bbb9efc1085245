#include <aorta/apps/echo/command_line.h>

int main(int argc, char** argv) { return aorta::echo::run_command_line(argc, argv); }
