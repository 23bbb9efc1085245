#!/bin/bash
# Draws a graph that autograd::to_dot wrote: tools/graph_svg.sh GRAPH.dot [GRAPH.svg]
set -euo pipefail
[[ $# -ge 1 && $# -le 2 ]] || { echo "usage: tools/graph_svg.sh GRAPH.dot [GRAPH.svg]" >&2; exit 2; }
in=$1
out=${2:-${in%.dot}.svg}
[[ -r $in ]] || { echo "graph_svg: the file must be readable, got $in" >&2; exit 2; }
command -v dot > /dev/null || { echo "graph_svg: needs Graphviz: apt-get install graphviz" >&2; exit 1; }
temporary=$(mktemp "$out.XXXXXX")
trap 'rm -f "$temporary"' EXIT
dot -Tsvg "$in" -o "$temporary"
chmod 644 "$temporary"
mv "$temporary" "$out"
echo "$out"
