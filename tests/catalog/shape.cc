#include <aorta/tests/catalog/rows.h>
namespace aorta::catalog {
std::vector<Row> view_rows() { return {}; }
std::vector<Row> creation_rows() { return {}; }
}  // namespace aorta::catalog
