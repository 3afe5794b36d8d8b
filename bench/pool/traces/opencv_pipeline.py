#!/usr/bin/env python3
"""A program for OpenCV whose allocations are recorded: frames with moving shapes go through a pipeline of its transparent API, in
which each step makes a UMat: grey, blur, pyramid, edges, morphology, threshold, differences of frames, warp.

    opencv_pipeline.py [FRAMES]     default 40; sizes change every ten frames

Compares each result with that of the same steps on the host; exit status 1: they differ, or there is no OpenCL. It knows nothing of
Clump.
"""
import sys

import cv2
import numpy as np

SIZES = [(320, 240), (640, 480), (200, 150), (800, 600)]


def frame_of(number, size):
    width, height = size
    image = np.zeros((height, width, 3), np.uint8)
    for i in range(6):
        x, y = (37 * i + 5 * number) % width, (53 * i + 3 * number) % height
        cv2.circle(image, (x, y), 10 + 4 * i, (40 * i, 255 - 30 * i, 120 + 20 * i), -1)
    return image


def pipeline(image, before):
    grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    small = cv2.pyrDown(cv2.GaussianBlur(grey, (5, 5), 1.2))
    edges = cv2.Sobel(small, cv2.CV_16S, 1, 0)
    edges = cv2.convertScaleAbs(edges)
    opened = cv2.morphologyEx(edges, cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
    _, mask = cv2.threshold(opened, 30, 255, cv2.THRESH_BINARY)
    moved = cv2.warpAffine(small, np.float32([[1, 0, 3], [0, 1, 2]]), (small.get() if hasattr(small, 'get') else small).shape[::-1],
                           flags=cv2.INTER_NEAREST)
    result = cv2.bitwise_and(moved, mask)
    if before is not None:
        result = cv2.absdiff(result, before)
    return result, cv2.resize(moved, (64, 48), interpolation=cv2.INTER_AREA)


def main():
    frames = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    cv2.ocl.setUseOpenCL(True)
    if not cv2.ocl.useOpenCL():
        print('OpenCV has no OpenCL device')
        return 1
    cv2.setNumThreads(1)
    wrong, total = 0, 0
    last_device = last_host = None
    for number in range(frames):
        size = SIZES[number // 10 % len(SIZES)]
        image = frame_of(number, size)
        if number % 10 == 0:
            last_device = last_host = None
        last_device, small_device = pipeline(cv2.UMat(image), last_device)
        cv2.ocl.setUseOpenCL(False)
        last_host, small_host = pipeline(image, last_host)
        cv2.ocl.setUseOpenCL(True)
        for device, host in ((last_device.get(), last_host), (small_device.get(), small_host)):
            # Roundings differ by one; a threshold makes more of that at single pixels.
            wrong += np.mean(np.abs(device.astype(int) - host.astype(int)) > 2) > 0.01
        total += int(last_device.get().sum())
    print(f'{frames} frames, {wrong} wrong, sum {total}')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
