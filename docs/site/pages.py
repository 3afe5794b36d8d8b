#!/usr/bin/env python3
"""Makes the folder that Sphinx builds the site from: the project's Markdown, and pages of the reference.

    pages.py FOLDER XML           FOLDER is made anew. XML is what Doxygen wrote of the headers (Doxyfile)

A page keeps its path, and README.md becomes index.md, so that most links between pages are as they are on a Git host. Other links lead

    to a folder             to the README.md that is in it
    to a picture            to a copy
    to another file         to a page with its text; to a file of an example, to the page of the example, which has all its files

The bar at the side lists what docs/README.md links, in that order, then the reference and the examples. A page of docs/ that is not
linked there is a warning of Sphinx, and a warning is an error.

Read first: scripts/docs.sh. Read next: conf.py.
"""
import os
import pathlib
import re
import shutil
import sys
import xml.etree.ElementTree as ET

sys.dont_write_bytecode = True
import doxygen_filter  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PICTURES = (".svg", ".png")
LANGUAGES = {".c": "c", ".h": "c", ".cpp": "cpp", ".hpp": "cpp", ".cl": "opencl", ".clh": "opencl", ".clcpp": "cpp", ".sycl": "cpp", ".cu": "cuda", ".py": "python",
             ".txt": "text"}
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
# Paths of the reference in backticks, which are links on the site. In a link already: with a bracket behind.
REFERENCE = re.compile(r"`(include/clump/(\w+\.h(?:pp)?)|cl/api/(\w+\.clh))`(?!\])")
FENCE = re.compile(r"^\s*```")
DEVICE = ("device_api", "raw", "arrays", "map", "vector", "grid", "together", "staged")
# Folders without a README.md of their own.
FOLDERS = {"examples": "docs/guide/first-program.md#examples"}


def all_pages():
    found = []
    for path, folders, files in os.walk(ROOT):
        folders[:] = [f for f in folders if not f.startswith((".", "build")) and f != "out"]
        found += [(pathlib.Path(path) / f).relative_to(ROOT).as_posix() for f in files if f.endswith(".md")]
    return sorted(found)


def of_site(path):
    """The place of a file of the repository on the site."""
    return re.sub(r"(^|/)README\.md$", r"\1index.md", path)


def place_of(header):
    """The page of a header in the reference."""
    return "reference/" + (header[:-2] + ".rst" if header.endswith(".h") else header.replace(".", "-") + ".md")


def example_of(path):
    """The README.md of the example that a file is of, or None."""
    found = re.match(r"((?:python/)?examples/[^/]+)/[^/]+$", path)
    return found and f"{found[1]}/README.md"


def anchor_of(name):
    return re.sub(r"[^\w-]", "", name.lower())


class Site:
    def __init__(self, folder):
        self.folder = folder
        self.pages = all_pages()
        self.shown = set()  # files that have a page of their text

    def write(self, path, text):
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

    def target(self, page, link):
        """What a link of `page` is on the site. One that leads nowhere stays, and Sphinx says so."""
        path, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", link) or not path:
            return link
        path = os.path.normpath(os.path.join(os.path.dirname(page), path))
        if path in FOLDERS:
            path, _, anchor = FOLDERS[path].partition("#")
        if (ROOT / path / "README.md").is_file():
            path += "/README.md"
        if not path.endswith(".md") and (ROOT / path).is_file():
            if path.endswith(PICTURES):
                place = self.folder / path
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / path, place)
            elif example_of(path) in self.pages:
                path, anchor = example_of(path), anchor_of(os.path.basename(path))
            else:
                self.show(path)
                path += ".md"
        link = os.path.relpath(of_site(path), os.path.dirname(of_site(page)) or ".")
        return link + ("#" + anchor if anchor else "")

    def reference_link(self, page, path, name):
        if not (ROOT / path).is_file() or (name.endswith(".clh") and name[:-4] not in DEVICE):
            return f"`{path}`"
        return f"[`{path}`]({os.path.relpath(place_of(name), os.path.dirname(of_site(page)) or '.')})"

    def show(self, path):
        if path not in self.shown:
            self.shown.add(path)
            self.write(path + ".md", f"---\norphan: true\n---\n# {path}\n\n{self.code(path)}")

    def code(self, path):
        return f"````{LANGUAGES.get(os.path.splitext(path)[1], 'text')}\n{(ROOT / path).read_text(encoding='utf-8').rstrip()}\n````\n"

    def page(self, path):
        in_block, lines = False, []
        for line in (ROOT / path).read_text(encoding="utf-8").splitlines():
            in_block ^= bool(FENCE.match(line))
            if not in_block:
                line = LINK.sub(lambda m: m[1] + self.target(path, m[2]) + m[3], line)
                line = REFERENCE.sub(lambda m: self.reference_link(path, m[1], m[2] or m[3]), line)
            lines.append(line)
        text = "\n".join(lines) + "\n"
        if example_of(path) == path:
            for file in sorted((ROOT / path).parent.iterdir()):
                if file.suffix in LANGUAGES:
                    text += f"\n## {file.name}\n\n{self.code(file.relative_to(ROOT).as_posix())}"
        self.write(of_site(path), text)

    def linked(self, page, heading):
        """The pages that a section of a page links, in that order."""
        text = (ROOT / page).read_text(encoding="utf-8")
        section = re.search(rf"^## {heading}.*?(?=^## |\Z)", text, re.M | re.S)[0]
        found = []
        for _, link, _ in LINK.findall(section):
            path = os.path.normpath(os.path.join(os.path.dirname(page), link.partition("#")[0]))
            if (ROOT / path / "README.md").is_file():
                path += "/README.md"
            if path in self.pages and path not in found:
                found.append(path)
        return found


# ---- The reference ------------------------------------------------------------------------------
DIRECTIVES = {"function": "doxygenfunction", "define": "doxygendefine", "typedef": "doxygentypedef", "enum": "doxygenenum"}


def entries(header, xml):
    """(line, text in reStructuredText) of all that a header declares, and of its headings."""
    tree = ET.parse(xml / f"{header[:-2].replace('_', '__')}_8h.xml").getroot()
    for member in tree.iter("memberdef"):
        yield int(member.find("location").get("line")), f".. {DIRECTIVES[member.get('kind')]}:: {member.find('name').text}\n"
    for inner in tree.iter("innerclass"):
        location = ET.parse(xml / f"{inner.get('refid')}.xml").getroot().find("compounddef/location")
        if "." not in inner.text:
            yield int(location.get("line")), f".. doxygenstruct:: {inner.text}\n   :members:\n"
    for number, line in enumerate(doxygen_filter.filtered(ROOT / "include/clump" / header).splitlines(), 1):
        heading = re.match(r"/\* ---- (.*?) -", line)
        if heading:
            title = heading[1].split(": clump_")[0]
            yield number, f"{title}\n{'-' * len(title)}\n"


def reference(site, xml):
    """Writes the pages; returns their places, in the order of reading."""
    headers = sorted(p.name for p in (ROOT / "include/clump").glob("*.h"))
    head = (ROOT / "include/clump/clump.h").read_text(encoding="utf-8").partition("*/")[0]
    order = [name for name in re.findall(r"\b(\w+\.h)\b", head.partition("Reading order:")[2]) if name in headers]
    order = list(dict.fromkeys(["clump.h"] + order + headers))
    places = []
    for header in order:
        text = f"{header}\n{'=' * len(header)}\n\n``#include <clump/{header}>``\n\n"
        text += f".. doxygenfile:: {header}\n   :sections: briefdescription detaileddescription\n\n"
        text += "\n".join(entry for _, entry in sorted(entries(header, xml)))
        site.write(place_of(header), text)
        places.append(place_of(header))
    for path in ["include/clump/clump.hpp"] + [f"cl/api/{name}.clh" for name in DEVICE]:
        source = (ROOT / path).read_text(encoding="utf-8")
        name = os.path.basename(path)
        text = f"# {name}\n\n{in_markdown(source)}"
        if path.endswith(".hpp"):
            text += f"\n## The header\n\n{site.code(path)}"
        site.write(place_of(name), text)
        places.append(place_of(name))
    return places


def in_markdown(source):
    """The first comment of a file: words; what is indented is a list of definitions, or left as it is."""
    lines = doxygen_filter.lines_of(source[2:source.index("*/")]) + [""]
    text, i = "", 0
    while i < len(lines):
        end = i
        while end < len(lines) - 1 and (lines[end].startswith("  ") or (end > i and lines[end + 1].startswith("  "))):
            end += 1
        if end > i:
            text += "\n" + (definitions(lines[i:end]) or verbatim(lines[i:end])) + "\n"
        else:
            while end < len(lines) - 1 and not lines[end + 1].startswith("  "):
                end += 1
            end += 1
            text += in_words("\n".join(lines[i:end])) + "\n"
        i = end
    return text


def in_words(text):
    """Nothing but `code` means anything."""
    return re.sub(r"(`[^`]*`)|([<>*\\]|(?<!\w)_|_(?!\w))", lambda m: m[1] or "\\" + m[2], text)


def verbatim(lines):
    text = "\n".join(line[2:] for line in lines).rstrip()
    return f"```{'opencl' if '{' in text or ';' in text else 'text'}\n{text}\n```\n"


def definitions(lines):
    """Terms on the left and their explanations in a column on the right; None if that is not what they are."""
    first = re.match(r"  \S.*?  +(?=\S)", lines[0])
    if not first:
        return None
    column, text = first.end(), ""
    for line in lines:
        term, words = line[:column], in_words(line[column:])
        if not term.strip():
            text += f"  {words}\n" if words else ""
        elif term[1] == " " and term[-1] == " " and words:
            text += f"\n`` {term.strip()} ``\n: {words}\n"
        else:
            return None
    return text


# ---- What Doxygen wrote --------------------------------------------------------------------------
def split(parent, para):
    """The words before, between and after lists of parameters and results become paragraphs, and the lists come last."""
    words, lists = [ET.Element("para")], ET.Element("para")
    words[0].text = para.text
    for child in list(para):
        if child.tag in ("parameterlist", "simplesect"):
            words.append(ET.Element("para"))
            words[-1].text, child.tail = child.tail, None
            lists.append(child)
        else:
            words[-1].append(child)
    place = list(parent).index(para)
    parent.remove(para)
    for element in reversed([e for e in words if len(e) or (e.text or "").strip()] + [lists]):
        parent.insert(place, element)


def mend(xml):
    """Breathe makes a paragraph of each line of a text, and one text of the words around a list."""
    for path in xml.glob("*_8h.xml"):
        tree = ET.parse(path)
        for parent in list(tree.iter("detaileddescription")):
            for para in list(parent):
                for element in para.iter():
                    if element.tag not in ("verbatim", "programlisting"):
                        element.text = element.text and element.text.replace("\n", " ")
                    element.tail = element.tail and element.tail.replace("\n", " ")
                if para.find("parameterlist") is not None or para.find("simplesect") is not None:
                    split(parent, para)
        tree.write(path, encoding="utf-8", xml_declaration=True)


# ---- All -----------------------------------------------------------------------------------------
def toctree(caption, places):
    places = "\n".join(os.path.splitext(p)[0] for p in places)
    return f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{places}\n```\n"


def main():
    folder, xml = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    shutil.rmtree(folder, ignore_errors=True)
    site = Site(folder)
    mend(xml)
    for path in site.pages:
        site.page(path)
    project = ["docs/index.md", "CHANGELOG.md", "docs/CONTRIBUTING.md", "docs/SECURITY.md"]
    sections = [(heading, [of_site(p) for p in site.linked("docs/README.md", heading) if of_site(p) not in project])
                for heading in ("Guide", "Internals", "Measurements")]
    listed = {place for _, places in sections for place in places}
    sections.insert(1, ("Reference", reference(site, xml)))
    sections.insert(2, ("Examples", [of_site(p) for p in site.pages if example_of(p) == p]))
    sections[-1][1].extend(of_site(p) for p in site.pages if p.startswith("bench/") and of_site(p) not in listed)
    sections.append(("Project", project))
    with open(folder / "index.md", "a", encoding="utf-8") as index:
        index.write("".join(toctree(*section) for section in sections))


if __name__ == "__main__":
    main()
