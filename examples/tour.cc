// A short tour of Aorta.
#include <aorta/aorta.h>

#include <cstdio>

int main() { std::printf("Aorta %s\n", aorta::version()); }
