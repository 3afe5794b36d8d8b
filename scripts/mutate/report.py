"""What is printed."""
import operators


def one_line(text):
    return ' '.join(text.split())


def show_change(old, new):
    return f'    - {one_line(old)}\n    + {one_line(new)}'


def line_of(result):
    by = {'found': f"by {result.get('by')} ({result.get('how')}, {result['seconds']:.0f} s)",
          'survived': f"of {', '.join(result.get('ran', [])) or 'no test'}"}
    return f"{result['ident']} {result['path']}:{result['line']} {result['kind']}: " \
           f"{result['verdict']} {by.get(result['verdict'], result.get('why', ''))}"


def summary(results, skipped, left):
    """The table by file, then the survivors. Returns the text and how many survived."""
    real = [r for r in results if r['verdict'] in ('found', 'survived', 'equivalent')]
    lines = [f"{'file':<28}{'mutants':>8}{'found':>7}{'equivalent':>12}{'survived':>10}"]
    for path in sorted({r['path'] for r in real}) + ['all']:
        these = [r for r in real if path in ('all', r['path'])]
        count = {v: sum(r['verdict'] == v for r in these)
                 for v in ('found', 'equivalent', 'survived')}
        lines.append(f"{path:<28}{len(these):>8}{count['found']:>7}{count['equivalent']:>12}"
                     f"{count['survived']:>10}")
    survivors = [r for r in real if r['verdict'] == 'survived']
    for r in sorted(survivors, key=lambda r: (r['path'], r['line'])):
        words = f" ({r['note']})" if r.get('note') else ''
        lines.append(f"\nSURVIVED {r['path']}:{r['line']} {r['ident']} {r['kind']}{words}")
        lines.append(show_change(r['old'], r['new']))
        lines.append(f"    of {', '.join(r['ran']) or 'no test'}")
    found = count['found']
    judged = found + len(survivors)
    lines.append('')
    for why in sorted({r['why'] for r in results if r['verdict'] == 'discarded'}):
        number = sum(r['verdict'] == 'discarded' and r['why'] == why for r in results)
        lines.append(f'{number} discarded and drawn anew: {why}')
    if skipped:
        lines.append(f'{skipped} left out: only in programs for a GPU of their own (PTX, sub-groups)')
    if left:
        lines.append(f'{left} not run: no time left')
    if judged:
        seconds = sum(r['seconds'] for r in real)
        hung = sum(r.get('how') == 'hung' for r in real)
        lines.append(f'{seconds / max(len(real), 1):.1f} s a mutant, {hung} found by a hang')
        lines.append(f'score: {found} of {judged} found, {100.0 * found / judged:.1f}%')
    return '\n'.join(lines), len(survivors)


def matrix(results):
    """Which tests earn their place: of each, the mutants it ran on, those that it found, and of
    them those that no other test found. A test with none of its own may still keep a promise that
    no mutant breaks."""
    found = [r for r in results if r['verdict'] == 'found']
    lines = [f"{'test':<32}{'mutants':>8}{'found':>7}{'alone':>7}"]
    for test in sorted({name for r in found for name in r['ran']}):
        mine = [r for r in found if test in r['found_by']]
        alone = [r for r in mine if len(r['found_by']) == 1]
        lines.append(f"{test:<32}{sum(test in r['ran'] for r in found):>8}{len(mine):>7}"
                     f"{len(alone):>7}")
    return '\n'.join(lines)


def listing(mutant, text, side):
    old, new = operators.changed_lines(text, mutant)
    return f'{mutant.ident} {mutant.path}:{mutant.line} {mutant.kind} {side} {mutant.note}\n' \
           + show_change(old, new)
