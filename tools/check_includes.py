"""Checks that each file includes the standard header of every std name in it: check_includes.py [ROOT]

The default build reads the standard headers precompiled, so the compiler doesn't tell. A header counts that the file
or one of our headers that it includes names. Prints `file: rule, got what` for each that is missing, and exits 1.
"""

import functools
import os
import re
import sys

sys.dont_write_bytecode = True
import source_tree

# Header -> the names of namespace std that it declares, as far as we use them. A name may have more than one header.
DECLARES = {
    "algorithm": """adjacent_find all_of any_of binary_search clamp copy copy_backward copy_if copy_n count count_if
        equal equal_range fill fill_n find find_if find_if_not for_each generate is_sorted lexicographical_compare
        lower_bound max max_element merge min min_element minmax minmax_element mismatch next_permutation none_of nth_element
        partial_sort partition pop_heap push_heap remove remove_if replace replace_if reverse rotate search
        set_difference set_intersection set_union shuffle sort stable_partition stable_sort swap_ranges transform
        unique upper_bound""",
    "any": "any any_cast",
    "array": "array begin end get size to_array",
    "atomic": """atomic atomic_flag atomic_ref memory_order_acq_rel memory_order_acquire memory_order_relaxed
        memory_order_release memory_order_seq_cst""",
    "bit": "bit_cast bit_ceil bit_floor bit_width countl_zero countr_zero endian has_single_bit popcount rotl rotr",
    "cctype": "isalnum isalpha isdigit isspace tolower toupper",
    "charconv": "chars_format from_chars to_chars",
    "chrono": "chrono",
    "cmath": """abs acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh cyl_bessel_i erf erfc exp exp2 expm1 fabs
        floor fma fmod frexp hypot ilogb isfinite isinf isnan ldexp lgamma llround log log10 log1p log2 lround modf
        nan nearbyint nextafter pow remainder rint round signbit sin sinh sqrt tan tanh tgamma trunc""",
    "compare": "strong_ordering weak_ordering",
    "complex": "complex complex_literals conj polar",
    "concepts": "constructible_from convertible_to derived_from floating_point integral invocable same_as",
    "condition_variable": "condition_variable",
    "csetjmp": "jmp_buf longjmp",
    "cstddef": "byte max_align_t nullptr_t ptrdiff_t size_t to_integer",
    "csignal": "raise sig_atomic_t signal",
    "cstdio": "fclose ferror fflush fgets fopen fprintf fputs fread fwrite perror printf puts remove rename fscanf snprintf sscanf",
    "cstdlib": "_Exit abort abs aligned_alloc atexit atoi exit free getenv malloc strtod strtold strtol strtoull system",
    "cstring": "memchr memcmp memcpy memmove memset strchr strcmp strerror strlen strncmp strncpy strrchr strspn strstr",
    "ctime": "gmtime localtime strftime time time_t tm",
    "deque": "begin deque end erase_if size",
    "exception": """current_exception exception exception_ptr make_exception_ptr rethrow_exception rethrow_if_nested
        set_terminate terminate terminate_handler throw_with_nested uncaught_exceptions""",
    "filesystem": "filesystem",
    "fstream": "fstream ifstream ofstream",
    "functional": "bind_front function greater hash invoke less minus multiplies negate plus ref",
    "future": "async future launch",
    "initializer_list": "begin end initializer_list",
    "iomanip": "setprecision setw",
    "ios": "fixed hex ios streamsize",
    "iostream": "cerr cin cout",
    "istream": "istream ws",
    "iterator": """back_inserter begin data default_sentinel_t distance end input_iterator_tag inserter
        istreambuf_iterator make_move_iterator next ostream_iterator prev reverse_iterator size ssize""",
    "latch": "latch",
    "limits": "numeric_limits",
    "list": "begin end list",
    "map": "begin end erase_if map multimap size",
    "memory": """dynamic_pointer_cast enable_shared_from_this make_shared make_unique make_unique_for_overwrite
        shared_ptr static_pointer_cast unique_ptr weak_ptr""",
    "mutex": "adopt_lock call_once defer_lock lock_guard mutex once_flag recursive_mutex scoped_lock unique_lock",
    "new": "align_val_t bad_alloc nothrow nothrow_t",
    "numbers": "numbers",
    "numeric": "accumulate exclusive_scan gcd inner_product iota lcm partial_sum reduce",
    "optional": "make_optional nullopt optional",
    "ostream": "endl flush ostream",
    "queue": "priority_queue queue",
    "random": """bernoulli_distribution mt19937 mt19937_64 normal_distribution random_device uniform_int_distribution
        uniform_real_distribution""",
    "ratio": "micro milli nano ratio",
    "regex": "regex regex_match regex_replace regex_search smatch sregex_iterator",
    "set": "begin end erase_if multiset set size",
    "source_location": "source_location",
    "span": "as_bytes as_writable_bytes begin dynamic_extent end size span",
    "sstream": "istringstream ostringstream stringstream",
    "stdexcept": "invalid_argument length_error logic_error out_of_range runtime_error",
    "string": "begin end erase erase_if getline size stod stof stoi stol stoll stoul stoull string to_string",
    "string_view": "begin end size string_view",
    "system_error": "errc error_code generic_category system_category system_error",
    "thread": "jthread this_thread thread",
    "tuple": "apply forward_as_tuple get make_tuple tie tuple tuple_element_t tuple_size tuple_size_v",
    "type_traits": """common_type_t conditional_t decay_t enable_if_t false_type integral_constant invoke_result_t
        is_aggregate_v is_arithmetic_v is_base_of_v is_class_v is_const_v is_constructible_v is_convertible_v is_enum_v
        is_floating_point_v is_integral_v is_invocable_v is_lvalue_reference_v is_nothrow_move_constructible_v is_same_v is_signed_v is_trivially_copyable_v
        is_trivially_default_constructible_v is_trivially_destructible_v
        is_unsigned_v is_void_v make_unsigned_t remove_all_extents_t remove_const_t remove_cv_t remove_cvref_t remove_pointer_t
        remove_reference_t true_type type_identity type_identity_t underlying_type_t""",
    "typeindex": "type_index",
    "typeinfo": "type_info",
    "unordered_map": "begin end erase_if size unordered_map",
    "unordered_set": "begin end erase_if size unordered_set",
    "utility": """as_const declval exchange forward get index_sequence index_sequence_for integer_sequence make_index_sequence
        make_integer_sequence make_pair move pair piecewise_construct swap""",
    "variant": "get get_if holds_alternative monostate variant variant_size_v visit",
    "vector": "begin end erase erase_if size vector",
}
# Header -> those whose own declarations can't do without it.
STREAMS = "fstream iostream istream ostream sstream"
CONTAINERS = "array deque list map queue set string unordered_map unordered_set vector"
COMES_WITH = {
    "cstddef": CONTAINERS + " bit memory span string_view",
    "exception": "stdexcept",
    "initializer_list": CONTAINERS,
    "ios": STREAMS,
    "istream": "fstream iostream sstream",
    "iterator": CONTAINERS + " " + STREAMS + " span string_view",
    "mutex": "condition_variable",
    "new": "memory",
    "ostream": "fstream iostream sstream",
    "ratio": "chrono",
    "stdexcept": "string",
    "string": "filesystem regex stdexcept " + STREAMS,
    "string_view": "filesystem string",
    "system_error": "charconv filesystem",
    "tuple": "map",
    "type_traits": CONTAINERS + " concepts functional memory optional span tuple utility variant",
    "typeinfo": "any typeindex",
    "utility": CONTAINERS + " algorithm functional memory optional span tuple variant",
}
# Comments and texts.
NO_CODE = re.compile(r"'\\?.'|" r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.DOTALL)
STD_NAME = re.compile(r"\bstd::(\w+)")


def offers():
    """Name -> the set of headers any of which will do."""
    found = {}
    for header, names in DECLARES.items():
        for name in names.split():
            found.setdefault(name, set()).update([header] + COMES_WITH.get(header, "").split())
    return found


def check(root):
    """Every missing header as a line of text."""

    @functools.lru_cache(maxsize=None)
    def standard_headers(path):
        """Those that path and our headers that it includes name."""
        found, seen, queue = set(), {path}, [path]
        for one in queue:
            for _, quote, target in source_tree.includes(os.path.join(root, one)):
                if target.startswith("aorta/"):
                    ours = target[len("aorta/"):]
                elif quote == '"':
                    ours = os.path.normpath(os.path.join(os.path.dirname(one), target))
                else:
                    found.add(target)
                    continue
                if ours not in seen and os.path.exists(os.path.join(root, ours)):
                    seen.add(ours)
                    queue.append(ours)
        return found

    headers_of = offers()
    problems = []
    for path in source_tree.files(root, source_tree.CODE):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            text = NO_CODE.sub("", file.read())
        for name in sorted(set(STD_NAME.findall(text))):
            headers = headers_of.get(name)
            if not headers:
                problems.append("%s: each std name stands in DECLARES of tools/check_includes.py, got %s" % (path, name))
            elif not headers & standard_headers(path):
                mine = " or ".join("<%s>" % h for h in sorted(headers) if name in DECLARES[h].split())
                problems.append("%s: a std name needs its header, got %s without %s" % (path, name, mine))
    return problems


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    problems = check(root)
    print("\n".join(problems) or "every std name has its header")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
