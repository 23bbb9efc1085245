"""judge.h for what a program says: its lines, beside its exit code."""

import ctypes

from bad_input_case import HEARTBEAT, errors_of, fault_of_lines, lines_of

CODES = {0, 2, 3, 4, 5, 6}  # docs/echo_errors.md


class Judge:
    def __init__(self, path):
        self.rules = ctypes.CDLL(path)
        for function in self.rules.aorta_fault_of, self.rules.aorta_fault_of_output:
            function.restype, function.argtypes = ctypes.c_char_p, [ctypes.c_char_p, ctypes.c_size_t]

    @staticmethod
    def ask(function, text):
        said = text.encode(errors="surrogateescape")  # the bytes as they were written
        return function(said, len(said)).decode()

    def fault(self, done, codes):
        """What is wrong with how a program ended; nothing when all is well."""
        output = self.ask(self.rules.aorta_fault_of_output, done.err + done.out)
        if output:
            return "it " + output
        if done.code not in codes:
            return "the exit code must be one of %s, got %d" % (sorted(codes), done.code)
        errors = errors_of(done)
        if done.code == 0 and errors:
            return "there must be no error, got %d" % len(errors)
        if done.code in CODES - {0} and fault_of_lines(done):
            return "%s, got %d" % (fault_of_lines(done), len(errors))
        for line in lines_of(done.err):
            if HEARTBEAT.match(line):
                continue
            # What a signal ended says what is kept.
            if done.code > 128 and line.startswith("error: stopped by "):
                continue
            text = line.partition(": ")[2] if line.startswith(("error: ", "warning: ")) else line
            fault = self.ask(self.rules.aorta_fault_of, text)
            if fault:
                return "a line %s: %s" % (fault, line)
        return ""
