"""Makes Markdown of the benchmark's JSON: report.py FILE... prints it, report.py --update PAGE FILE... puts each table
into PAGE between the lines `<!-- table NAME -->` and `<!-- end -->`, which must be there.
"""

import json
import sys

COLUMNS = ["what", "threads", "Aorta", "PyTorch", "ratio", "reference", "its time", "ratio", "target", ""]


def markdown(table):
    """One table, with a line above it about where it was measured."""
    rows = [[row["name"], str(row["threads"])] + row["cells"] for row in table["rows"]]
    kept = [i for i, _ in enumerate(COLUMNS) if any(row[i] for row in rows)]
    lines = [
        "%s, %d CPUs, %s; %s, load %.2f; Aorta %s, oneDNN %s, PyTorch %s; %s; %g s a side." % (
            table["cpu"], table["cpus"], table["isa"], table["date"], table["load"], table["aorta"],
            table["onednn"], table["pytorch"], table["compiler"], table["seconds_a_side"]),
        "",
        "| %s |" % " | ".join(COLUMNS[i] for i in kept),
        "|%s" % "".join("---|" if COLUMNS[i] in ("what", "reference", "") else "--:|" for i in kept),
    ]
    lines += ["| %s |" % " | ".join(row[i] for i in kept) for row in rows]
    notes = ["- %s, %s: %s" % (row["name"], row["threads"], row["note"]) for row in table["rows"] if row["note"]]
    dropped = sum(sum(row["dropped"]) for row in table["rows"])
    lines += ["", "%d of %d rounds dropped because the machine's speed moved." % (
        dropped, sum(len(row["dropped"]) for row in table["rows"]))]
    return "\n".join(lines + ([""] + notes if notes else []))


def update(page, tables):
    """The page's text with each table between its marks."""
    for table in tables:
        start, end = "<!-- table %s -->\n" % table["table"], "<!-- end -->\n"
        before, found, rest = page.partition(start)
        if not found or end not in rest:
            raise SystemExit("report.py: the page has lines %r and %r, got neither or one" % (start, end))
        page = before + start + "\n" + markdown(table) + "\n\n" + end + rest.split(end, 1)[1]
    return page


def main():
    arguments = sys.argv[1:]
    page = None
    if arguments[:1] == ["--update"]:
        page, arguments = arguments[1], arguments[2:]
    if not arguments:
        raise SystemExit(__doc__)
    tables = []
    for path in arguments:
        with open(path, encoding="utf-8") as file:
            tables.append(json.load(file))
    if page is None:
        print("\n\n".join("## %s\n\n%s" % (table["table"], markdown(table)) for table in tables))
        return
    with open(page, encoding="utf-8") as file:
        text = file.read()
    with open(page, "w", encoding="utf-8") as file:
        file.write(update(text, tables))


if __name__ == "__main__":
    main()
