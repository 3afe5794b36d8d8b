#!/usr/bin/env python3
"""The site of the documentation (scripts/docs.sh) is built without a warning, has every page and every public name, its links lead to
something, pages do not scroll sideways on a phone, and the search finds. Faults that are planted into a copy stop the build, and
are named.

    site.py FOLDER            FOLDER is for what is built

Without Chromium nothing is opened, and the test says so. Exit status 77: Doxygen or Sphinx is not there.
"""
import functools
import html
import html.parser
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading

sys.dont_write_bytecode = True
from client_calls import ROOT, functions  # noqa: E402

failures = []

# (file, its text, what is there instead, what the build must say)
FAULTS = (
    ('include/clump/run.h', '\n#ifdef __cplusplus\n}', '\nCLUMP_API void clump_planted(int a);\n\n#ifdef __cplusplus\n}',
     r'run\.h:\d+: .*clump_planted.* is not documented'),
    ('docs/guide/pool.md', '\n## ', '\n[planted](no-such-page.md), [another](limits.md#no-such-heading)\n\n## ',
     r'guide/pool\.md:\d+: WARNING: .*no-such-page\.md(.|\n)*limits\.md#no-such-heading'),
    ('docs/guide/planted.md', None, '# Planted\n\nIn no list.\n', r"guide/planted\.md: WARNING: document isn't included in any toctree"),
)

# Loads one page after the other at the width of a phone, and tells which of them are wider, unless it is in a box that scrolls;
# then asks the search.
PHONE = '''<body><iframe id="phone" style="width:390px;height:844px;border:0"></iframe><pre id="told">began</pre><script>
const pages = PAGES, told = [], phone = document.getElementById("phone");
const load = url => new Promise(done => { phone.onload = done; phone.src = url; });
(async () => {
    for (const page of pages) {
        await load(page);
        const root = phone.contentDocument.scrollingElement, view = phone.contentWindow;
        const boxed = e => e && (/auto|scroll/.test(view.getComputedStyle(e).overflowX) && e.getBoundingClientRect().right < 391 || boxed(e.parentElement.closest("article *")));
        const wide = [...phone.contentDocument.querySelectorAll("article *")].find(e => e.getBoundingClientRect().right > 391 && !boxed(e));
        if (view.getComputedStyle(phone.contentDocument.body).margin !== "0px") told.push(page + ": there is a margin around it");
        if (wide || root.scrollWidth > root.clientWidth)
            told.push(page + ": " + root.scrollWidth + " px wide" + (wide ? ", by <" + wide.tagName + "> " + wide.textContent.trim().replace(/\\s+/g, " ").slice(0, 60) : ""));
    }
    await load("search.html?q=defragmentation");
    let found = [];
    for (let i = 0; i < 200 && !found.includes("Pool"); i++) {
        await new Promise(r => setTimeout(r, 50));
        found = [...phone.contentDocument.querySelectorAll("#search-results li a")].map(a => a.textContent);
    }
    told.push("found: " + found.join("; "));
    document.getElementById("told").textContent = told.join("\\n") + "\\nend";
})();
</script></body>'''


class Names(html.parser.HTMLParser):
    """The links of a page, and what they may lead to."""

    def __init__(self, text):
        super().__init__()
        self.links, self.ids = [], {''}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids.add(attrs.get('id', ''))
        link = attrs.get('href' if tag == 'a' else 'src' if tag == 'img' else '', '')
        if link and not re.match(r'[a-z]+:', link):
            self.links.append(link)


def build(root, folder):
    done = subprocess.run([root / 'scripts/docs.sh', folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          env={**os.environ, 'CLUMP_SETUP': '0'})
    return done.returncode, done.stdout.strip()


def check_pages(site):
    pages = {p.relative_to(site).as_posix(): Names(p.read_text()) for p in site.rglob('*.html')}
    for source in [p for p in (ROOT / 'docs').rglob('*.md')] + [ROOT / 'CHANGELOG.md']:
        page = re.sub(r'README\.md$', 'index.md', source.relative_to(ROOT).as_posix())[:-3] + '.html'
        if page not in pages:
            failures.append(f'the site has no {page}')
    names = set().union(*(page.ids for name, page in pages.items() if name.startswith('reference/')))
    for name in sorted(functions()):
        if f'c.{name}' not in names:
            failures.append(f'the reference has no {name}()')
    for name in pages:
        if name.startswith('reference/'):
            failures.extend(f'{name}: a paragraph begins with "{words}"' for words in re.findall(r'<p>\s*([),.;:][^<]{0,40})', (site / name).read_text()))
    for name, page in pages.items():
        for link in page.links:
            path, _, anchor = link.partition('#')
            path = os.path.normpath(os.path.join(os.path.dirname(name), path.partition('?')[0])) if path else name
            if not (site / path).exists():
                failures.append(f'{name}: the link {link} leads nowhere')
            elif path in pages and anchor not in pages[path].ids:
                failures.append(f'{name}: {link}: no such place')
    return sorted(pages)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):  # a browser that is done with a page hangs up
        pass


def check_phone(site, pages, folder):
    browser = os.environ.get('CHROMIUM') or shutil.which('chromium') or shutil.which('chromium-browser') or shutil.which('google-chrome')
    if not browser:
        print('no Chromium: no page was opened')
        return
    (site / 'phone.html').write_text(PHONE.replace('PAGES', json.dumps(pages)))
    server = Server(('127.0.0.1', 0), functools.partial(Quiet, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    done = subprocess.run([browser, '--headless', '--no-sandbox', '--disable-gpu', f'--user-data-dir={folder}/profile', '--dump-dom',
                           '--window-size=800,900', '--virtual-time-budget=600000', '--timeout=240000',
                           f'http://127.0.0.1:{server.server_port}/phone.html'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=300, check=False)
    server.shutdown()
    (site / 'phone.html').unlink()
    told = re.search(r'<pre id="told">(.*?)</pre>', done.stdout, re.S)
    if not told:
        print('Chromium does not run here: no page was opened\n' + done.stderr[-500:])
        return
    *wide, found, end = html.unescape(told[1]).split('\n') if '\n' in told[1] else ['', told[1]]
    failures.extend(f'on a phone {line}' for line in wide)
    if end != 'end':
        failures.append(f'the browser did not come to the end: {told[1][:500]}')
    elif 'Pool' not in found:
        failures.append(f'the search does not find the page of the pool: {found}')
    print(f'{len(pages)} pages were opened by {browser}')


def check_faults(folder):
    copy = folder / 'copy'
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(ROOT, copy, ignore=lambda path, names: [
        n for n in names if n == '__pycache__' or (path == str(ROOT) and (n.startswith(('.', 'build')) or n == 'out'))])
    # One build finds faults of Doxygen, which ends it; the next one all faults of Sphinx.
    said = []
    for faults in FAULTS[:1], FAULTS[1:]:
        before = {}
        for path, old, new, _ in faults:
            before[path] = (copy / path).read_text() if old else None
            (copy / path).write_text(before[path].replace(old, new, 1) if old else new)
            assert not old or old in before[path], f'{path} has no {old}: plant the fault elsewhere'
        status, output = build(copy, folder / 'faulty')
        said.append(output)
        for path, _, _, words in faults:
            if not status or not re.search(words, output):
                failures.append(f'a fault planted into {path} is not told: status {status}\n{output[-3000:]}')
            if before[path] is not None:
                (copy / path).write_text(before[path])
    print(f'{len(FAULTS)} planted faults')
    shutil.rmtree(copy)


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder / 'html', ignore_errors=True)
    status, output = build(ROOT, folder)
    if status == 2 and 'this needs' in output:
        print(f'skipped: {output}')
        return 77
    if status or output != str(folder / 'html/index.html'):
        failures.append(f'scripts/docs.sh: status {status}\n{output}')
    if (folder / 'html').is_dir():
        pages = check_pages(folder / 'html')
        check_phone(folder / 'html', pages, folder)
        check_faults(folder)
    for failure in failures:
        print(f'FAILED: {failure}')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
