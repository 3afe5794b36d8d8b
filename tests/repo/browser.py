"""Headless Chromium for tests: opens a page in a window of a given size, works with mouse and keyboard, evaluates expressions, and takes
screenshots, by its DevTools protocol through a pair of pipes.

    with browser.Browser(folder) as b:        folder: for the profile
        b.open(url, width, height, phone=False)
        b.value('document.title')

browser.find() is None where there is no Chromium (CHROMIUM names it; else the PATH is searched).
"""
import base64
import json
import os
import select
import shutil
import subprocess
import time

SECONDS = 60


class Failure(Exception):
    pass


def find():
    names = [os.environ.get('CHROMIUM')] if os.environ.get('CHROMIUM') else ['chromium', 'chromium-browser', 'google-chrome']
    return next((path for path in map(shutil.which, names) if path), None)


class Browser:
    def __init__(self, folder):
        self.folder, self.number, self.session, self.pending = folder, 0, None, b''

    def __enter__(self):
        child_reads, self.to = os.pipe()
        self.reads, child_writes = os.pipe()
        # The pipes have to be the descriptors 3 and 4 there. As root it has no sandbox, and is given none: pages are those of tests.
        self.process = subprocess.Popen(
            ['bash', '-c', f'exec "$@" 3<&{child_reads} 4>&{child_writes}', 'bash', find(), '--headless', '--no-sandbox', '--disable-gpu',
             '--disable-dev-shm-usage', '--hide-scrollbars', '--no-first-run', f'--user-data-dir={self.folder}/profile',
             '--remote-debugging-pipe'],
            pass_fds=(child_reads, child_writes), stdout=subprocess.DEVNULL, stderr=open(f'{self.folder}/browser.log', 'w'))
        os.close(child_reads)
        os.close(child_writes)
        try:
            target = self.call('Target.createTarget', url='about:blank')['targetId']
            self.session = self.call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
            self.call('Page.enable')
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.to)
        os.close(self.reads)

    def message(self, until):
        while b'\0' not in self.pending:
            ready, _, _ = select.select([self.reads], [], [], max(0, until - time.monotonic()))
            more = os.read(self.reads, 1 << 16) if ready else b''
            if not more:
                with open(f'{self.folder}/browser.log') as log:
                    raise Failure(('the browser has ended: ' if ready else 'the browser does not answer: ') + log.read()[-500:])
            self.pending += more
        one, self.pending = self.pending.split(b'\0', 1)
        return json.loads(one)

    def call(self, method, **parameters):
        self.number += 1
        command = {'id': self.number, 'method': method, 'params': parameters}
        if self.session:
            command['sessionId'] = self.session
        os.write(self.to, json.dumps(command).encode() + b'\0')
        until = time.monotonic() + SECONDS
        while True:
            answer = self.message(until)
            if answer.get('id') == self.number:
                if 'error' in answer:
                    raise Failure(f'{method}: {answer["error"]}')
                return answer['result']

    def open(self, url, width, height, phone=False):
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=2 if phone else 1, mobile=phone)
        self.call('Emulation.setTouchEmulationEnabled', enabled=phone)
        self.call('Page.navigate', url=url)
        self.wait('document.readyState == "complete"')

    def value(self, expression):
        """Of a JavaScript expression; of a promise what becomes of it."""
        done = self.call('Runtime.evaluate', expression=expression, awaitPromise=True, returnByValue=True)
        if 'exceptionDetails' in done:
            details = done['exceptionDetails']
            raise Failure(f'{expression}: {details.get("exception", {}).get("description", details["text"])}')
        return done['result'].get('value')

    def wait(self, expression, seconds=SECONDS):
        until = time.monotonic() + seconds
        while not self.value(f'Boolean({expression})'):
            if time.monotonic() > until:
                raise Failure(f'not within {seconds} s: {expression}')
            time.sleep(0.1)

    def mouse(self, kind, x, y, **more):
        self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, **more)

    def click(self, selector):
        x, y = self.value(f'(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: "nearest"}}); '
                          'const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()')
        for kind in ('mousePressed', 'mouseReleased'):
            self.mouse(kind, x, y, button='left', clickCount=1)

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(self.call('Page.captureScreenshot', format='png')['data']))
