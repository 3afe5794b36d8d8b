#!/usr/bin/env python3
"""Turns a header of include/clump into what Doxygen reads, and prints it. The headers keep their plain comments, which are
written for readers of the headers; this file says how such a comment is understood:

    the first comment of a file     is about the file
    a comment on lines of its own   is about the declaration in the next line, and about those that follow without a blank line
    a comment after a declaration   is about that
    lines indented by two or more   are parameters, if each begins with the name of one; otherwise a figure or code, left as it is
    "Returns", "Blocks:", "Threads:" begin a paragraph
    a function or macro that follows another without a blank line shares its comment
    a member without a comment      is told by its name (Doxygen gets a character without width)
    X(NAME, value, "text")          of a list gives the members of the enumeration that is made from the list, with these texts

Functions, macros and types without a comment stay without one, and Doxygen warns of them.

    doxygen_filter.py HEADER
"""
import re
import sys
import textwrap

COMMENT = re.compile(r"/\*(?!\*)(.*?)\*/", re.S)
PARAMETER = re.compile(r"^ {1,4}([\w, ]*?\w)(?: +\[((?:in|out)[^]]*)\])?(?:  +| *$)(.*)$")
LIST_ITEM = re.compile(r'\bX\((\w+), (?:(-?\d+), )?"([^"]*)"\)')


def escape(text):
    return re.sub(r"`([^`\n]+)`", r"<tt>\1</tt>", re.sub(r"([\\@<>&#%$])", r"\\\1", text))


def lines_of(body):
    """The text of a comment, without its left margin."""
    first, *others = body.split("\n")
    return [first.strip()] + [re.sub(r"^ *\* ?", "", line).rstrip() for line in others]


def in_words(body):
    """The comment of a member, where indentation means nothing."""
    return escape(" ".join(line.strip() for line in lines_of(body)).strip())


def paragraphs(text):
    """A paragraph for each thing that a reader looks for."""
    return re.sub(r"(?:^|(?<=\. ))(Returns |Blocks: |Threads: )",
                  lambda m: "\n@return " if m[1] == "Returns " else f"\n\n{m[1]}", text)


def converted(body, declaration):
    """The comment in Doxygen's language."""
    out, lines, i = [], lines_of(body), 0
    while i < len(lines):
        if not re.match(r"^ +\S", lines[i]):
            out.append(paragraphs(escape(lines[i])))
            i += 1
            continue
        end = i
        while end < len(lines) and (re.match(r"^ +\S", lines[end]) or
                                    (not lines[end] and end + 1 < len(lines) and re.match(r"^ +\S", lines[end + 1]))):
            end += 1
        block, i = lines[i:end], end
        found = PARAMETER.match(block[0])
        names = re.split(r", *", found[1]) if found else []
        if found and all(re.search(rf"\b{name}\b", declaration) for name in names if name):
            indent = len(block[0]) - len(block[0].lstrip())
            for line in block:
                found = PARAMETER.match(line)
                if found and len(line) - len(line.lstrip()) == indent:
                    way = re.match(r"(in|out)?(, *out)?", found[2] or "")
                    optional = " (optional)" if found[2] and "optional" in found[2] else ""
                    mark = {"in": "[in]", "out": "[out]"}.get(way[1] or "", "") if not way[2] else "[in,out]"
                    out += [f"@param{mark} {name}{optional} {escape(found[3])}" for name in re.split(r", *", found[1])]
                else:
                    out.append(escape(line.strip()))
            if i < len(lines) and lines[i] and not lines[i].startswith(("Returns", "Blocks", "Threads")):
                out.append("")
        else:
            out += ["@verbatim", *textwrap.dedent("\n".join(block)).split("\n"), "@endverbatim"]
    return "\n".join(out)


def expand_lists(text):
    """In the place of `FOO_LIST(MACRO)` within an enumeration its members."""
    for head in re.finditer(r"#define (\w+_LIST)\(X\)((?:[^\n]*\\\n)*[^\n]*)", text):
        items = LIST_ITEM.findall(head[2])
        use = re.search(rf"#define (\w+)\([^)]*\) ([^\n]*),\n *{head[1]}\(\1\)\n#undef \1\n", text)
        if not items or not use:
            continue
        prefix = use[2].split("##")[0] if "##" in use[2] else ""
        given = "".join(f"{prefix}{name}{' = ' + value if value else ''}, /* {words[0].upper() + words[1:]}. */\n"
                        for name, value, words in items)
        text = text.replace(use[0], given, 1)
    return text


def split_members(text):
    """`type a, b; /* comment */` as two members with that comment."""
    return re.sub(r"^( +(?:const )?\w+ )(\w+(?:,\s+\w+)+);( */\*.*?\*/|$)",
                  lambda m: "\n".join(f"{m[1]}{name};{m[3]}" for name in re.split(r",\s+", m[2])), text, flags=re.M | re.S)


def filtered(path):
    with open(path, encoding="utf-8") as file:
        text = expand_lists(file.read())
    text = re.sub(r"^#define (CLUMP_\w+_H|CLUMP_API.*)$", "", text, flags=re.M)
    text = re.sub(r"^#define (\w+)\(.*\n((?:[^#].*\n)+)#undef \1\n", r"\2", text, flags=re.M)  # uses of lists
    text = split_members(text)
    out, at = [], 0
    for found in COMMENT.finditer(text):
        out.append(text[at:found.start()])
        before, after = text[text.rfind("\n", 0, found.start()) + 1:found.start()], text[found.end():]
        if at == 0:
            out.append("/** @file\n" + converted(found[1], "") + " */")
        elif found[1].startswith(" ----"):
            out.append(found[0])
        elif before.strip():
            out.append("/**< " + in_words(found[1]) + " */")
        elif before or re.match(r"\n +\S", after):
            out.append("/** " + in_words(found[1]) + " */")
        elif re.match(r"\n[^\s*/#]|\n#define", after):
            out.append("/** " + converted(found[1], after[:after.find("\n\n")]) + " */")
        else:
            out.append(found[0])
        at = found.end()
    text = "".join(out) + text[at:]
    text = re.sub(r"\b(\w+)(\([^;{}]*\);)\n(?=CLUMP_API|static inline)", r"\1\2\n/** Described with \1(). */\n", text)
    text = re.sub(r"^#define (CLUMP_\w+) .*\n(?=#define CLUMP_\w+ [^/\\]*\n)", r"\g<0>/** Described with \1. */\n", text, flags=re.M)
    text = re.sub(r"^( +[^\n/(]*[\w\]]| +.*\(\*\w+\)\(.*\));$", r"\1; /**< &zwj; */", text, flags=re.M)
    return text


if __name__ == "__main__":
    sys.stdout.write(filtered(sys.argv[1]))
