"""The package against NumPy: values of all types, arrays, launches, references, files, pools, errors, lifetimes."""
import gc
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import numpy as np
import pyopencl as cl
import pyopencl.algorithm
import pyopencl.array
import pyopencl.cltypes

import clump

try:
    DEVICE = cl.create_some_context(interactive=False)  # kept: with Intel's CPU runtime a queue does not keep its context alive
    QUEUE = cl.CommandQueue(DEVICE)
except cl.Error as none:
    raise unittest.SkipTest(f"no OpenCL device: {none}")
CONTEXT = clump.Context(QUEUE)

SCHEMA = """
abstract class Thing { uint number; ref Thing next; }
class Stone : Thing { float weight; float3 place; bool wet; short grain[3]; int2 pair[2]; }
aos class Leaf : Thing { double area; uchar colour[4] packed; }
"""
KERNELS = """
__kernel void make_stones(CLUMP_HEAP) {
    CLUMP_FOR_EACH_NEW(Stone, self, i) {
        Stone_number(self) = i;
        Stone_next(self) = Thing_null;
        Stone_weight(self) = i * 0.5f;
        Stone_place(self) = (float3)(i, i + 1, i + 2);
        Stone_wet(self) = i % 3 == 0;
        for (uint k = 0; k < 3; k++) Stone_grain(self, k) = i * 10 + k;
        for (uint k = 0; k < 2; k++) Stone_pair(self, k) = (int2)(i, k);
    }
}
__kernel void make_leaves(CLUMP_HEAP) {
    CLUMP_FOR_EACH_NEW(Leaf, self, i) {
        Leaf_number(self) = 1000000 + i;
        Leaf_next(self) = Thing_null;
        Leaf_area(self) = -(double)i;
        for (uint k = 0; k < 4; k++) Leaf_colour(self, k) = i + k;
    }
}
__kernel void weigh(CLUMP_HEAP_NO_ALLOC, float by, __global const float *more, __local float *one) {
    CLUMP_FOR_EACH(Stone, self) { one[0] = 0; Stone_weight(self) += by + more[0]; }
}
__kernel void chain(CLUMP_HEAP_NO_ALLOC, CLUMP_NUMBERS) {
    CLUMP_FOR_EACH_NUMBERED(Stone, self, i) {
        Stone after = CLUMP_AT(Stone, i + 1);
        Stone_next(self) = i % 10 == 9 ? Thing_null : Stone_as_Thing(after);
    }
}
__kernel void crack(CLUMP_HEAP, uint every) {
    CLUMP_FOR_EACH(Stone, self) if (Stone_number(self) / 10 % every) Stone_free(self);
}
__kernel void total(CLUMP_HEAP_NO_ALLOC) {
    float sum = 0;
    CLUMP_FOR_EACH(Stone, self) sum += Stone_weight(self);
    CLUMP_REDUCE(float, sum, CLUMP_SUM);
}
__kernel void downwards(CLUMP_HEAP_NO_ALLOC, __global uint *keys) {
    CLUMP_FOR_EACH_KEYED(Stone, self, i) keys[i] = 1000000 - Stone_number(self);
}
__kernel void bury(CLUMP_HEAP_NO_ALLOC, __global const uint *dead) {
    for (uint i = get_global_id(0); i < dead[0]; i += get_global_size(0)) Stone_weight((Stone){Stone_next((Stone){dead[1 + i]}).id}) = -1;
}
"""


class Case(unittest.TestCase):
    def raises(self, status, words, call, *arguments, **more):
        with self.assertRaises(clump.Error) as caught:
            call(*arguments, **more)
        self.assertEqual(caught.exception.status, status)
        self.assertIn(words, str(caught.exception))
        return caught.exception

    def gate(self):
        """An event that commands wait for; it is opened at the end of the test at the latest."""
        gate = cl.UserEvent(QUEUE.context)
        self.addCleanup(self.open, gate)
        return gate

    @staticmethod
    def is_view(array, heap):
        """Whether an array is the heap's memory: its buffer, or a sub-buffer."""
        return heap.buffer == (array.base_data.associated_memobject or array.base_data)

    @staticmethod
    def open(gate):
        if gate.command_execution_status != cl.command_execution_status.COMPLETE:
            gate.set_status(cl.command_execution_status.COMPLETE)

    @classmethod
    def setUpClass(cls):
        cls.heap = clump.Heap(CONTEXT, SCHEMA, bytes=16 << 20)
        cls.program = clump.Program(cls.heap, KERNELS)

    def kernel(self, name):
        return self.program.kernel(name)

    def fresh(self, stones=0, leaves=0, **more):
        heap = clump.Heap(CONTEXT, SCHEMA, bytes=16 << 20, **more)
        if stones:
            heap.do_new(self.kernel("make_stones"), "Stone", stones)
        if leaves:
            heap.do_new(self.kernel("make_leaves"), "Leaf", leaves)
        return heap


class Fields(Case):
    def test_values_of_kernels(self):
        heap, i = self.fresh(1000, 300), np.arange(1000)
        stone = lambda field: heap.read_field("Stone", field)
        np.testing.assert_array_equal(stone("number"), i.astype(np.uint32), strict=True)
        np.testing.assert_array_equal(stone("weight"), (i * 0.5).astype(np.float32), strict=True)
        np.testing.assert_array_equal(stone("place"), np.stack([i, i + 1, i + 2], 1).astype(np.float32), strict=True)
        np.testing.assert_array_equal(stone("wet"), i % 3 == 0, strict=True)
        np.testing.assert_array_equal(stone("grain"), (i[:, None] * 10 + np.arange(3)).astype(np.int16), strict=True)
        pair = np.stack([np.repeat(i[:, None], 2, 1), np.tile([0, 1], (1000, 1))], 2).astype(np.int32)
        np.testing.assert_array_equal(stone("pair"), pair, strict=True)
        np.testing.assert_array_equal(stone("next"), np.zeros(1000, np.uint32), strict=True)
        j = np.arange(300)
        np.testing.assert_array_equal(heap.read_field("Leaf", "area"), -j.astype(np.float64), strict=True)
        np.testing.assert_array_equal(heap.read_field("Leaf", "colour"), (j[:, None] + np.arange(4)).astype(np.uint8), strict=True)
        both = np.concatenate([i, 1000000 + j])
        np.testing.assert_array_equal(np.sort(heap.read_field("Thing", "number")), both)
        self.assertEqual((heap.read_count("Thing"), heap.read_count("Stone"), heap.read_count("Leaf")), (1300, 1000, 300))

    def test_written_values_come_back(self):
        heap, numbers = self.fresh(777, 99), np.random.default_rng(5)
        for name, field in [("Stone", f) for f in heap.classes["Stone"]] + [("Leaf", f) for f in heap.classes["Leaf"]]:
            values = heap.read_field(name, field)
            made = (numbers.random(values.shape) * 100).astype(values.dtype)
            if field == "next":
                made = np.zeros_like(made)
            heap.write_field(name, field, made)
            np.testing.assert_array_equal(heap.read_field(name, field), made, strict=True)
        heap.write_field("Stone", "weight", 7)  # for all
        self.assertEqual(set(heap.read_field("Stone", "weight")), {7})
        heap.check()

    def test_no_objects(self):
        heap = self.fresh()
        self.assertEqual(heap.read_field("Stone", "place").shape, (0, 3))
        self.assertEqual(heap.read_field("Stone", "pair").shape, (0, 2, 2))
        heap.write_field("Stone", "weight", [])
        self.assertEqual(heap.array("Stone", "weight").shape, (0,))
        self.assertEqual(len(heap.read_refs("Stone")), 0)

    def test_wrong_names_and_shapes(self):
        heap = self.fresh(5)
        self.raises("CLUMP_ERR_NOT_FOUND", 'no class "Stown". It has', heap.read_field, "Stown", "weight")
        self.raises("CLUMP_ERR_NOT_FOUND", 'no field "wait". It has number, next, weight', heap.read_field, "Stone", "wait")
        self.raises("CLUMP_ERR_USAGE", "must have (5, 3)", heap.write_field, "Stone", "place", np.zeros((5, 4)))
        self.raises("CLUMP_ERR_USAGE", "grain has 3 elements, so element 3", heap.array, "Stone", "grain", 3)
        self.raises("CLUMP_ERR_NOT_FOUND", "Stown", heap.read_count, "Stown")

    def test_values_that_do_not_fit(self):
        heap = self.fresh(8, 8)
        before = {(name, field): heap.read_field(name, field) for name in ("Stone", "Leaf") for field in heap.classes[name]}
        wrong = [("Stone", "number", value) for value in (np.nan, -1, 2**40, 2.0**32, 1.5, np.inf, 2**70, "7", None, 1j, b"a")]
        wrong += [("Stone", "next", value) for value in (1.5, 1.0, -1, 2**32, True, np.full(8, -1, np.int64))]
        wrong += [("Stone", "weight", value) for value in (1j, None, [None] * 8, 1e300, np.datetime64("2020"), np.ma.masked,
                                                           np.ma.masked_array(np.ones(8), [0] * 7 + [1]), np.zeros(8, "i4,i4"))]
        wrong += [("Stone", "wet", value) for value in (2, 0.5, np.nan, -1)]
        wrong += [("Stone", "grain", value) for value in (32768, -32769, [1, 2, 2.5])]
        wrong += [("Leaf", "colour", value) for value in (256, -1, [1, 2, 3, 300])] + [("Leaf", "area", np.longdouble("1e4000"))]
        for name, field, value in wrong:
            with self.subTest(field=field, value=value):
                self.raises("CLUMP_ERR_USAGE", f"{name}.{field}: ", heap.write_field, name, field, value)
        for (name, field), values in before.items():
            np.testing.assert_array_equal(heap.read_field(name, field), values, strict=True)
        exact = [("number", 2**32 - 1), ("number", 7.0), ("weight", np.nan), ("weight", -np.inf), ("weight", 2**40), ("wet", 1.0), ("wet", [0, 1] * 4),
                 ("next", np.arange(8)), ("next", 0), ("grain", [-32768, 0, 32767]), ("weight", np.ma.masked_array(np.ones(8)))]
        for field, value in exact:
            heap.write_field("Stone", field, value)
            found = heap.read_field("Stone", field)
            np.testing.assert_array_equal(found, np.broadcast_to(np.asarray(value).astype(found.dtype), found.shape), strict=True)

    def test_texts(self):
        heap = self.fresh(2)
        calls = [lambda x: heap.read_count(x), lambda x: heap.read_refs(x), lambda x: heap.read_field(x, "weight"), lambda x: heap.read_field("Stone", x),
                 lambda x: heap.write_field("Stone", x, 0), lambda x: heap.array(x, "weight"), lambda x: heap.evict(x), lambda x: heap.bring_back(x),
                 lambda x: heap.reserve(x, 1), lambda x: heap.read_object_field(x, "weight", 1), lambda x: heap.collect(dead_class=x),
                 lambda x: clump.Heap.bytes_needed(CONTEXT, SCHEMA, {x: 1}), lambda x: heap.read_object_array("Stone", x, 1),
                 lambda x: heap.compact([x]), lambda x: heap.compact(order="field", order_field=x), lambda x: heap.collect(root_classes=[x]),
                 lambda x: heap.do_new(self.kernel("make_stones"), x, 1), lambda x: self.program.kernel(x),
                 lambda x: clump.Program(heap, "", name=x), lambda x: clump.Program(heap, "", options=x), lambda x: clump.Program(heap, x)]
        files = [heap.save, heap.load, heap.dump, lambda x: clump.Context(QUEUE, cache=x)]
        with tempfile.TemporaryDirectory() as folder:
            for call in calls + files:
                with self.assertRaisesRegex(ValueError, "NUL"):
                    call("Stone\0s" if call in calls else os.path.join(folder, "file\0s"))
                with self.assertRaises(TypeError):
                    call(b"Stone" if call in calls else 7)
            self.assertEqual(os.listdir(folder), [])
            for path in (None, ["x"]):
                with self.assertRaises(TypeError):
                    heap.save(path)
        for call in (lambda: heap.compact("Stone"), lambda: heap.compact(classes="Stone"), lambda: heap.collect(root_classes="Stone")):
            with self.assertRaisesRegex(TypeError, r"\['Stone'\]"):
                call()
        self.raises("CLUMP_ERR_SCHEMA", "zero byte", clump.Heap, CONTEXT, "class A { uint x; }\0", bytes=1 << 20)
        self.assertEqual(heap.read_count("Stone"), 2)


class Names(unittest.TestCase):
    def test_methods_of_heaps_are_as_in_c(self):
        """README.md, "Names"."""
        headers = pathlib.Path(__file__).resolve().parents[2] / "include/clump"
        own = {"clump_heap_create", "clump_heap_destroy",
               "clump_heap_write_table"}  # NumPy writes what read_structs() gives
        for function in set(re.findall(r"\b(clump_heap_\w+)\(", "".join(path.read_text() for path in headers.glob("*.h")))):
            name = function[len("clump_heap_"):]
            name = name[len("get_"):] if name.startswith("get_") else name
            self.assertEqual(hasattr(clump.Heap, name), function not in own, function)


class Arrays(Case):
    def test_as_read(self):
        heap = self.fresh(1000, 300)
        for name in ("Stone", "Leaf"):
            for field in heap.classes[name]:
                expected = heap.read_field(name, field)
                elements = expected.shape[1] if field in ("grain", "pair", "colour") else 0
                for index in range(max(elements, 1)):
                    for copy in (None, True):
                        array = heap.array(name, field, index, copy=copy)
                        self.assertTrue(array.flags.c_contiguous)
                        found = array.get()
                        if found.dtype.fields:  # a vector
                            width = 3 if field == "place" else 2
                            found = found.view(np.float32 if field == "place" else np.int32).reshape(len(found), -1)[:, :width]
                        wanted = expected[:, index] if elements else expected
                        np.testing.assert_array_equal(found, wanted, strict=True)

    def test_view_and_copy(self):
        heap = self.fresh(50, 50)  # a row of each
        view = heap.array("Stone", "weight", copy=False)
        self.assertTrue(self.is_view(view, heap))
        view += 1
        np.testing.assert_array_equal(heap.read_field("Stone", "weight"), np.arange(50, dtype=np.float32) * 0.5 + 1)
        self.assertEqual(self.is_view(heap.array("Stone", "weight"), heap), view.offset == 0)  # it begins where a sub-buffer can
        copy = heap.array("Stone", "weight", copy=True)
        copy += 1
        self.assertFalse(self.is_view(copy, heap))
        self.assertEqual(heap.read_field("Stone", "weight")[0], 1)
        area = heap.array("Leaf", "area", copy=False)  # an aos class: structs one after the other
        self.assertFalse(area.flags.c_contiguous)
        self.assertGreater(area.strides[0], 8)
        self.assertTrue(heap.array("Leaf", "area").flags.c_contiguous)

    def test_scans(self):
        heap = self.fresh(50, 50)
        for name, field in (("Stone", "number"), ("Stone", "weight"), ("Leaf", "area")):
            values = heap.read_field(name, field)
            for copy in (None, False, True):
                array = heap.array(name, field, copy=copy)
                if isinstance(array, clump._fields.Within):  # strides, or where no sub-buffer begins
                    self.assertFalse(copy is None)
                    self.raises("CLUMP_ERR_USAGE", "PyOpenCL's scans", cl.array.cumsum, array)
                    self.raises("CLUMP_ERR_USAGE", "PyOpenCL's scans", cl.algorithm.copy_if, array, "ary[i] > 10")
                else:
                    np.testing.assert_array_equal(cl.array.cumsum(array).get(), np.cumsum(values, dtype=values.dtype), strict=True)
                    chosen, count, _ = cl.algorithm.copy_if(array, "ary[i] > 10")
                    np.testing.assert_array_equal(chosen.get()[:int(count.get())], values[values > 10], strict=True)
        self.assertIsInstance(heap.array("Leaf", "area", copy=False), clump._fields.Within)
        self.raises("CLUMP_ERR_USAGE", "strides", self.kernel("weigh").set_arg, 1, heap.array("Leaf", "area", copy=False))
        with self.assertRaises(TypeError):
            heap.array("Stone", "grain", 1.0)

    def test_one_field_is_a_view(self):
        heap = clump.Heap(CONTEXT, "class Sample { float value; }", bytes=8 << 20)
        heap.do_new(clump.Program(heap, """
            __kernel void fill(CLUMP_HEAP) { CLUMP_FOR_EACH_NEW(Sample, self, i) Sample_value(self) = i; }""").kernel("fill"), "Sample", 100000)
        rows = np.unique(heap.read_refs("Sample") >> 6)  # of 256 bytes; on some devices not all of them are neighbours
        view = heap.array("Sample", "value", copy=len(np.unique(np.diff(rows))) != 1)
        self.assertEqual(self.is_view(view, heap), len(np.unique(np.diff(rows))) == 1)
        view *= 2
        if not self.is_view(view, heap):
            heap.write_field("Sample", "value", view.get())
        np.testing.assert_array_equal(heap.read_field("Sample", "value"), np.arange(100000, dtype=np.float32) * 2, strict=True)

    def test_holes_are_no_view(self):
        heap = self.fresh(1000)
        heap.do_all(self.kernel("crack"), np.uint32(7))
        self.raises("CLUMP_ERR_USAGE", "are not at equal distances", heap.array, "Stone", "weight", copy=False)
        np.testing.assert_array_equal(heap.array("Stone", "weight").get(), heap.read_field("Stone", "weight"), strict=True)


    def test_copies_on_the_device(self):
        heap, gate = self.fresh(1000, 300), self.gate()
        for name, field, index in (("Stone", "weight", 0), ("Stone", "place", 0), ("Stone", "grain", 2), ("Leaf", "area", 0), ("Leaf", "colour", 3)):
            there = heap.array(name, field, index, copy=True)
            copy = cl.array.zeros(QUEUE, len(there), there.dtype)
            heap.copy_field(name, field, "to_buffer", copy, index)
            np.testing.assert_array_equal(copy.get(), there.get(), strict=True)
        before, ones = heap.read_field("Stone", "weight"), cl.array.to_device(QUEUE, np.ones(1000, np.float32))
        heap.copy_field("Stone", "weight", "from_buffer", ones[64:])  # as many as it has
        before[:936] = 1
        np.testing.assert_array_equal(heap.read_field("Stone", "weight"), before, strict=True)
        event = heap.copy_field("Stone", "weight", "to_buffer", ones.data, offset=256, capacity=10, wait_for=[gate])
        QUEUE.flush()
        time.sleep(0.3)  # it would be done by now
        self.assertGreater(event.command_execution_status, cl.command_execution_status.COMPLETE)
        self.open(gate)
        event.wait()
        self.raises("CLUMP_ERR_TOO_SMALL", "", heap.copy_field, "Stone", "weight", "to_buffer", ones.data, capacity=1001)
        self.raises("CLUMP_ERR_USAGE", "contiguous and of type int16", heap.copy_field, "Stone", "grain", "to_buffer", ones)
        with self.assertRaisesRegex(ValueError, "to_buffer, from_buffer"):
            heap.copy_field("Stone", "weight", "there", ones)

    def test_room(self):
        needed = clump.Heap.bytes_needed(CONTEXT, SCHEMA, {"Stone": 50000, "Leaf": 1000})
        for bytes_, fits in ((needed, True), (needed * 95 // 100, False)):
            heap = clump.Heap(CONTEXT, SCHEMA, bytes=bytes_, errors_on_request=True)
            program = clump.Program(heap, KERNELS)
            heap.do_new(program.kernel("make_stones"), "Stone", 50000)
            self.assertEqual(heap.read_stats()["classes"]["Leaf"]["room"] >= 1000, fits)
        self.raises("CLUMP_ERR_NOT_FOUND", "Stown", clump.Heap.bytes_needed, CONTEXT, SCHEMA, {"Stown": 1})
        stats = heap.read_stats()
        self.assertEqual((stats["objects"], stats["classes"]["Stone"]["objects"], stats["classes"]["Leaf"]["objects"]), (heap.read_count("Stone"),) * 2 + (0,))
        heap.reserve("Stone", 10).wait()
        self.raises("CLUMP_ERR_USAGE", "", heap.reserve, "Thing", 10)
        self.assertEqual(heap.repair()["objects"], heap.read_count("Stone"))
        self.assertEqual(heap.info["bytes"], heap.dump()["bytes"])


class Launches(Case):
    def test_parameters(self):
        heap, weigh = self.fresh(100), self.kernel("weigh")
        more = cl.array.to_device(QUEUE, np.array([3], np.float32))
        for buffer in (more, more.data):
            heap.do_all(weigh, np.float32(0.5), buffer, cl.LocalMemory(4))
        weigh.set_args(np.float32(0), cl.array.to_device(QUEUE, np.array([2], np.float32)), cl.LocalMemory(4))
        gc.collect()  # the kernel keeps the array
        heap.do_all(weigh)
        heap.do_all(weigh)
        expected = np.arange(100, dtype=np.float32) * 0.5 + 11
        np.testing.assert_array_equal(heap.read_field("Stone", "weight"), expected)
        one = np.float32(1), more, cl.LocalMemory(4)
        for given in (one[:1], one[:2], (*one, np.float32(1))):
            self.raises("CLUMP_ERR_USAGE", f"weigh has 3 parameters after its heap, but {len(given)} were passed", heap.do_all, weigh, *given)
            self.raises("CLUMP_ERR_USAGE", "has 3", weigh.set_args, *given)
        heap.do_all(weigh, *one)
        expected += 4
        for call in (heap.do_all, lambda k: heap.do_new(k, "Stone", 1), lambda k: heap.launch(k, 64, 64), lambda k: heap.reduce(k, np.float32)):
            self.raises("CLUMP_ERR_USAGE", "parameters of kernel weigh are not set: 0, 1, 2", call, weigh)  # they were for the launch before
        with self.assertRaises(TypeError):
            heap.do_all(weigh, np.float32(1), more, 3)
        weigh.set_arg(0, np.float32(1))
        self.raises("CLUMP_ERR_USAGE", "weigh are not set: 1, 2", heap.do_all, weigh)
        np.testing.assert_array_equal(heap.read_field("Stone", "weight"), expected)
        for wrong in (np.str_("abcd"), np.datetime64("2020"), np.zeros((), object)[()]):
            with self.assertRaisesRegex(TypeError, "parameter 0 of weigh"):
                weigh.set_arg(0, wrong)
        for wrong in (None, object, "U1", [("a", object)]):
            with self.assertRaisesRegex(TypeError, "type of a reduction"):
                heap.reduce(self.kernel("total"), wrong)
        with self.assertRaisesRegex(TypeError, "pyopencl.Event"):
            heap.reduce(self.kernel("total"), np.float32, wait_for=[QUEUE])
        for wrong in (1, 1.0, "1", None, [1]):
            with self.assertRaisesRegex(TypeError, "parameter 0 of weigh.*numpy.float32"):
                weigh.set_arg(0, wrong)
        self.raises("CLUMP_ERR_CL", "CL_INVALID_ARG_SIZE", weigh.set_arg, 0, np.float64(1))
        self.raises("CLUMP_ERR_USAGE", "parameter 3", weigh.set_arg, 3, np.float32(1))
        with self.assertRaises(cl.array.ArrayHasOffsetError):
            weigh.set_arg(1, cl.array.to_device(QUEUE, np.zeros(8, np.float32))[4:])

    def test_memory_of_deleted_arrays(self):
        heap, weigh, pool = self.fresh(100), self.kernel("weigh"), clump.Pool(CONTEXT)
        allocator = clump.PoolAllocator(pool)
        for _ in range(3):
            heap.do_all(weigh, np.float32(0), cl.array.zeros(QUEUE, 100, np.float32, allocator=allocator), cl.LocalMemory(4))
        QUEUE.finish()
        self.assertEqual(pool.stats["allocations"], 0)
        copy = heap.array("Stone", "weight", copy=True).base_data
        QUEUE.finish()
        self.assertEqual((sys.getrefcount(copy), copy.get_info(cl.mem_info.REFERENCE_COUNT)), (2, 1))
        weigh.set_args(np.float32(0), cl.array.zeros(QUEUE, 100, np.float32, allocator=allocator), cl.LocalMemory(4))
        heap.do_all(weigh)
        QUEUE.finish()
        self.assertEqual(pool.stats["allocations"], 1)  # for the next launch
        heap.do_all(weigh)
        weigh.set_args(np.float32(0), copy, cl.LocalMemory(4))
        QUEUE.finish()
        self.assertEqual(pool.stats["allocations"], 0)

    def test_events(self):
        heap, gate = self.fresh(10), self.gate()
        heap.do_all(self.kernel("crack"), np.uint32(1)).wait()
        made = heap.do_all(self.kernel("crack"), np.uint32(1), wait_for=[gate])
        QUEUE.flush()
        time.sleep(0.3)  # it would be done by now
        self.assertGreater(made.command_execution_status, cl.command_execution_status.COMPLETE)
        self.open(gate)
        made.wait()
        self.assertEqual(made.command_execution_status, cl.command_execution_status.COMPLETE)
        self.assertEqual(heap.reduce(self.kernel("total"), np.float32), np.float32(22.5))
        heap.launch(self.kernel("crack"), 64, 64, np.uint32(1)).wait()
        self.assertEqual(heap.read_count("Stone"), 10)

    def test_queues(self):
        gate, other = self.gate(), cl.CommandQueue(QUEUE.context)
        held, free = self.fresh(10), self.fresh(10)
        self.assertEqual(CONTEXT.queue, QUEUE)
        # The context has to know of two queues before commands are held: it does not tell heaps apart on its only one.
        CONTEXT.queue = other
        self.assertEqual(free.reduce(self.kernel("total"), np.float32), np.float32(22.5))
        CONTEXT.queue = QUEUE
        held.do_all(self.kernel("crack"), np.uint32(1), wait_for=[gate])
        try:
            CONTEXT.queue = other
            self.assertEqual(free.reduce(self.kernel("total"), np.float32), np.float32(22.5))  # it does not wait
            made = held.do_all(self.kernel("crack"), np.uint32(1))
            other.flush()
            time.sleep(0.3)  # it would be done by now
            self.assertGreater(made.command_execution_status, cl.command_execution_status.COMPLETE)
            self.open(gate)
            self.assertEqual(held.reduce(self.kernel("total"), np.float32), np.float32(22.5))
            with self.assertRaises(clump.Error):
                CONTEXT.queue = cl.CommandQueue(cl.Context([QUEUE.device]))
            self.assertEqual(CONTEXT.queue, other)
        finally:
            CONTEXT.queue = QUEUE

    def test_errors(self):
        self.raises("CLUMP_ERR_USAGE", "program.cl:2: sin", clump.Program, self.heap, "/* 1 */\nfloat f(float x) { return sin(x); }\n", reproducible=True)
        error = self.raises("CLUMP_ERR_SCHEMA", "in line 2, column 5", clump.Heap, CONTEXT, "class A {\n    flot x;\n}", bytes=1 << 20)
        self.assertEqual((error.line, error.column), (2, 5))
        error = self.raises("CLUMP_ERR_BUILD", "boo", clump.Program, self.heap, "__kernel void f(CLUMP_HEAP) {\n boo(); }")
        self.assertEqual((error.line, error.cl_code), (2, -11))
        self.raises("CLUMP_ERR_NOT_FOUND", 'no kernel "f"', self.program.kernel, "f")
        self.raises("CLUMP_ERR_DEVICE_MEMORY", "bytes", clump.Heap, CONTEXT, SCHEMA, bytes=100)
        with self.assertRaisesRegex(TypeError, "str, but must be a pyopencl.CommandQueue"):
            clump.Heap("queue", SCHEMA, bytes=1 << 20)
        self.raises("CLUMP_ERR_USAGE", "set exactly one of bytes and device_share", clump.Heap, CONTEXT, SCHEMA)
        heap = self.fresh()
        heap.do_new(self.kernel("make_stones"), "Stone", 1 << 20)
        self.raises("CLUMP_ERR_DEVICE", "an allocation returned null", heap.take_errors)
        heap.take_errors()
        heap.check()
        self.raises("CLUMP_ERR_USAGE", "", heap.reduce, self.kernel("total"), np.float64)


OWN_KERNELS = """
__kernel void add(CLUMP_HEAP_NO_ALLOC, __global const Stone *stones, uint count, float by) {
    uint i = get_global_id(0);
    if (i < count) Stone_weight(stones[i]) += by;
}
__kernel void drop(CLUMP_HEAP, __global const Stone *stones, uint count) {
    uint i = get_global_id(0);
    if (i < count) Stone_free(stones[i]);
}
"""


class SeveralBuffers(Case):
    """The heap's buffers are a quarter of it."""

    def heap_of(self, buffer_bytes):
        try:
            return clump.Heap(CONTEXT, SCHEMA, bytes=16 << 20, buffer_bytes=buffer_bytes)
        except clump.Error as error:
            if error.status == "CLUMP_ERR_UNSUPPORTED" and "memory" in error.message:
                self.skipTest(error.message)
            raise

    def test_as_one(self):
        heap = self.heap_of(4 << 20)
        program = clump.Program(heap, KERNELS)
        count, i = 100000, np.arange(100000)
        heap.do_new(program.kernel("make_stones"), "Stone", count)
        self.assertGreater(count * 51, 4 << 20)  # so one buffer cannot have them
        np.testing.assert_array_equal(np.sort(heap.read_field("Stone", "number")), i.astype(np.uint32), strict=True)
        number = heap.read_field("Stone", "number")
        for copy in (None, True):
            array = heap.array("Stone", "weight", copy=copy)
            self.assertFalse(self.is_view(array, heap))
            np.testing.assert_array_equal(array.get(), (number * 0.5).astype(np.float32), strict=True)
        self.raises("CLUMP_ERR_USAGE", "several buffers", heap.array, "Stone", "weight", copy=False)
        few = self.heap_of(4 << 20)
        few.do_new(program.kernel("make_stones"), "Stone", 50)  # a row, of which an ordinary heap gives a view
        np.testing.assert_array_equal(few.array("Stone", "weight").get(), few.read_field("Stone", "weight"), strict=True)
        self.assertFalse(self.is_view(few.array("Stone", "weight"), few))
        heap.do_all(program.kernel("chain"))
        heap.do_all(program.kernel("crack"), np.uint32(5))
        expected = heap.read_count("Stone")
        self.assertEqual(heap.compact()["objects"], expected)
        self.assertEqual(heap.read_count("Stone"), expected)
        heap.check()

    def test_kernels_that_the_caller_enqueues(self):
        for buffer_bytes in (0, 4 << 20):
            heap = self.heap_of(buffer_bytes)
            heap.do_new(clump.Program(heap, KERNELS).kernel("make_stones"), "Stone", 100000)
            program = clump.Program(heap, OWN_KERNELS)
            built = cl.Program(QUEUE.context, program.source).build(program.options)
            refs = heap.read_refs("Stone")
            number = heap.read_field("Stone", "number")
            stones = cl.array.to_device(QUEUE, refs)
            add, drop = built.add, built.drop
            heap.set_kernel(add)
            for index, value in enumerate((stones.data, np.uint32(len(refs)), np.float32(3)), 1):
                add.set_arg(index, value)
            cl.enqueue_nd_range_kernel(QUEUE, add, (1 << 17,), (64,))
            np.testing.assert_array_equal(heap.read_field("Stone", "weight"), (number * 0.5 + 3).astype(np.float32), strict=True)
            heap.set_kernel(drop)
            drop.set_arg(1, stones.data)
            drop.set_arg(2, np.uint32(99000))
            cl.enqueue_nd_range_kernel(QUEUE, drop, (1 << 17,), (64,))
            heap.touch()
            self.assertEqual(sorted(heap.read_refs("Stone").tolist()), sorted(refs[99000:].tolist()))
            heap.take_errors()
            heap.check()


class OneObject(Case):
    def test_fields(self):
        heap = self.fresh(100, 100)
        for name in ("Stone", "Leaf"):
            refs = heap.read_refs(name)
            for field in heap.classes[name]:
                values = heap.read_field(name, field)
                np.testing.assert_array_equal(heap.read_object_field(name, field, refs[7]), values[7], strict=True)
                values[8] = values[7]
                heap.write_object_field(name, field, refs[8], values[7])
                np.testing.assert_array_equal(heap.read_field(name, field), values, strict=True)
        self.raises("CLUMP_ERR_REFERENCE", "", heap.read_object_field, "Stone", "weight", refs[0])  # a leaf
        self.raises("CLUMP_ERR_USAGE", "ref is 2 references", heap.read_object_field, "Leaf", "area", refs[:2])
        self.raises("CLUMP_ERR_USAGE", "1e+300", heap.write_object_field, "Stone", "weight", heap.read_refs("Stone")[0], 1e300)

    def test_structs(self):
        heap = self.fresh(100, 50)
        for name in ("Stone", "Leaf"):
            structs, refs = heap.read_structs(name), heap.read_refs(name)
            self.assertEqual(list(structs.dtype.names), heap.classes[name])
            for field in structs.dtype.names:
                values = structs[field][..., :3] if field == "place" else structs[field]
                np.testing.assert_array_equal(values, heap.read_field(name, field), strict=True)
            np.testing.assert_array_equal(heap.read_structs(name, refs=refs[::-3]), structs[::-3])
        some = heap.read_structs("Stone", ["weight", "number"], refs[:0])
        self.assertEqual((some.dtype.names, len(some)), (("weight", "number"), 0))
        stones = heap.read_structs("Stone", ["weight", "number"])
        stones["weight"] += 1
        before = heap.read_field("Stone", "place")
        heap.write_structs("Stone", stones)
        np.testing.assert_array_equal(heap.read_field("Stone", "weight"), stones["weight"], strict=True)
        heap.write_structs("Stone", stones[3:0:-1]["weight"].astype([("weight", np.float32)]), heap.read_refs("Stone")[:3])
        np.testing.assert_array_equal(heap.read_field("Stone", "weight")[:3], stones["weight"][3:0:-1], strict=True)
        np.testing.assert_array_equal(heap.read_field("Stone", "place"), before, strict=True)
        made = heap.new_structs("Stone", stones[:7])
        self.assertEqual((len(made), heap.read_count("Stone")), (7, 107))
        np.testing.assert_array_equal(heap.read_structs("Stone", stones.dtype.names, made), stones[:7])
        self.assertEqual(heap.read_object_field("Stone", "next", made[0]), 0)
        self.raises("CLUMP_ERR_USAGE", "weight is float64 in the structs, but must be float32", heap.write_structs, "Stone", np.zeros(100, [("weight", "f8")]))
        for wrong in (np.zeros(2, np.float32), stones[:4].reshape(2, 2), [1.0]):
            self.raises("CLUMP_ERR_USAGE", "must have structs and one axis", heap.new_structs, "Stone", wrong)
        self.raises("CLUMP_ERR_NOT_FOUND", "Stown", heap.read_structs, "Stown")
        self.assertEqual(len(heap.new_structs("Stone", stones[:0])), 0)
        self.raises("CLUMP_ERR_USAGE", "", heap.write_structs, "Stone", stones)  # seven too few
        self.raises("CLUMP_ERR_USAGE", "2 structs and 1 references", heap.write_structs, "Stone", stones[:2], made[:1])
        self.raises("CLUMP_ERR_NOT_FOUND", "no field", heap.read_structs, "Stone", ["wait"])
        with self.assertRaisesRegex(TypeError, r"\['weight'\]"):
            heap.read_structs("Stone", "weight")

    def test_handles(self):
        for watch in (False, True):
            heap = clump.Heap(CONTEXT, SCHEMA, bytes=16 << 20, watch_handles=watch)
            program = clump.Program(heap, KERNELS)
            heap.do_new(program.kernel("make_stones"), "Stone", 10000)
            refs, number = heap.read_refs("Stone"), heap.read_field("Stone", "number")
            stays, goes = (int(np.flatnonzero(number == n)[0]) for n in (9950, 9990))
            handles = [heap.create_handle(refs[i]) for i in (stays, goes)]
            self.assertEqual([heap.read_handle(handle) for handle in handles], [refs[stays], refs[goes]])
            heap.do_all(program.kernel("crack"), np.uint32(5))
            if watch:
                self.assertEqual(heap.read_handle(handles[1]), 0)
            self.assertGreater(heap.compact()["moves"], 0)
            moved = heap.read_handle(handles[0])
            self.assertNotEqual(moved, refs[stays])
            self.assertEqual(heap.read_object_field("Stone", "number", moved), 9950)
            self.assertEqual(heap.collect(only_mark=True)["live"], 1)
            heap.destroy_handle(handles[0])
            self.assertEqual(heap.collect(only_mark=True)["live"], 0)
            self.raises("CLUMP_ERR_USAGE", "", heap.read_handle, handles[0])
            self.raises("CLUMP_ERR_REFERENCE", "", heap.create_handle, 0)

    def test_arrays_of_run_time_length_and_raw_memory(self):
        heap = clump.Heap(CONTEXT, "class Bin { uint items[*] inline 2; float3 at[*] max 3; uint sum; }", bytes=8 << 20)
        program = clump.Program(heap, """
            __kernel void fill(CLUMP_HEAP, __global uint *handles) {
                CLUMP_FOR_EACH_NEW(Bin, self, i) {
                    Bin_items_resize(self, i);
                    for (uint k = 0; k < i; k++) Bin_items(self, k) = 100 * i + k;
                    Bin_at_resize(self, i % 4);
                    for (uint k = 0; k < i % 4; k++) Bin_at(self, k) = (float3)(i, k, 0);
                    handles[i] = clump_raw_of(clump_malloc(64));
                }
            }
            __kernel void drop(CLUMP_HEAP, __global const uint *handles) { clump_free(clump_raw_at(handles[get_global_id(0)])); }""")
        handles = cl.array.zeros(QUEUE, 64, np.uint32)
        heap.do_new(program.kernel("fill"), "Bin", 20, handles)
        heap.take_errors()
        length, refs = heap.read_field("Bin", "items_length"), heap.read_refs("Bin")
        self.assertEqual(sorted(length), list(range(20)))
        for ref, i in zip(refs, length):
            np.testing.assert_array_equal(heap.read_object_array("Bin", "items", ref), 100 * i + np.arange(i, dtype=np.uint32), strict=True)
            at = np.array([(i, k, 0) for k in range(i % 4)], np.float32).reshape(-1, 3)
            np.testing.assert_array_equal(heap.read_object_array("Bin", "at", ref), at, strict=True)
        self.raises("CLUMP_ERR_USAGE", "", heap.read_object_array, "Bin", "sum", refs[0])
        self.assertEqual(heap.read_structs("Bin").dtype.names, ("items_length", "items_capacity", "items_memory", "at", "at_length", "sum"))
        offsets, items = heap.read_arrays("Bin", "items")
        np.testing.assert_array_equal(np.diff(offsets), length)
        np.testing.assert_array_equal(items, np.concatenate([100 * i + np.arange(i, dtype=np.uint32) for i in length]), strict=True)
        longer = np.concatenate([[0], np.cumsum(2 * length.astype(np.int64))])  # each array twice
        twice = np.concatenate([np.tile(items[offsets[i]:offsets[i + 1]], 2) for i in range(20)])
        heap.write_arrays("Bin", "items", longer, twice)
        for ref, i in zip(refs, range(20)):
            np.testing.assert_array_equal(heap.read_object_array("Bin", "items", ref), twice[longer[i]:longer[i + 1]], strict=True)
        heap.write_arrays("Bin", "items", [0, 3, 3], [7, 8, 9], refs[:2])
        self.assertEqual([part.tolist() for part in heap.read_arrays("Bin", "items", refs[1::-1])], [[0, 0, 3], [7, 8, 9]])
        self.raises("CLUMP_ERR_USAGE", "several references", heap.write_arrays, "Bin", "items", [0, 1, 2], [1, 2], refs[[4, 4]])
        self.raises("CLUMP_ERR_DEVICE_MEMORY", "no raw memory", heap.write_arrays, "Bin", "items", [0, 4 << 20], np.zeros(4 << 20, np.uint32), refs[:1])
        heap.take_errors()
        self.raises("CLUMP_ERR_USAGE", "read_arrays", heap.array, "Bin", "items")
        self.raises("CLUMP_ERR_USAGE", "", heap.write_field, "Bin", "items_length", 0)
        before = heap.read_stats()
        heap.launch(program.kernel("drop"), 20, 20, handles)
        heap.take_errors()
        self.assertLessEqual(heap.read_stats()["raw_bytes"], before["raw_bytes"] - 20 * 64)
        raw = clump.Heap(CONTEXT, None, bytes=1 << 20, raw=True)
        self.assertEqual((raw.classes, raw.read_stats()["objects"], raw.read_stats()["classes"]), ({}, 0, {}))


    def test_arrays_with_max(self):
        schema = "class Bag { uint id; float3 at[*] max 3; ref Bag friends[*] max 2; }"
        heap = clump.Heap(CONTEXT, schema, bytes=4 << 20)
        refs = heap.new_structs("Bag", np.array([(i,) for i in range(70)], [("id", "u4")]))
        lengths = np.arange(70) % 4
        offsets, at = np.concatenate([[0], np.cumsum(lengths)]), np.arange(3 * lengths.sum(), dtype=np.float32).reshape(-1, 3)
        heap.write_arrays("Bag", "at", offsets, at, refs)
        found, values = heap.read_arrays("Bag", "at", refs)
        np.testing.assert_array_equal(found, offsets, strict=True)
        np.testing.assert_array_equal(values, at, strict=True)
        found, values = heap.read_arrays("Bag", "at")                   # in another order
        for i, ref in enumerate(heap.read_refs("Bag")):
            np.testing.assert_array_equal(values[found[i]:found[i + 1]], heap.read_object_array("Bag", "at", ref), strict=True)
        heap.write_arrays("Bag", "friends", [4, 6], [0, 0, 0, 0, refs[3], refs[4], 0], refs[:1])
        self.assertEqual(heap.read_object_array("Bag", "friends", refs[0]).tolist(), [refs[3], refs[4]])
        heap.write_arrays("Bag", "friends", np.zeros(71, int), [])
        self.assertEqual([part.tolist() for part in heap.read_arrays("Bag", "friends")], [[0] * 71, []])
        self.assertEqual([part.tolist() for part in heap.read_arrays("Bag", "friends", [])], [[0], []])
        structs = heap.read_structs("Bag", refs=refs)
        np.testing.assert_array_equal(structs["at_length"], lengths)
        np.testing.assert_array_equal(structs["at"][3, :, :3], at[3:6])
        heap.write_arrays("Bag", "friends", np.arange(71), np.full(70, refs[7]), refs)
        for in_heap in (heap, clump.Heap(CONTEXT, schema, bytes=8 << 20, checked=True)):
            if in_heap is not heap:                                     # which reports an index beyond the length
                own = in_heap.new_structs("Bag", np.array([(i,) for i in range(70)], [("id", "u4")]))
                in_heap.write_arrays("Bag", "at", offsets, at, own)
                in_heap.write_arrays("Bag", "friends", np.arange(71), np.full(70, own[7]), own)
            order, friend = in_heap.read_field("Bag", "id"), in_heap.read_refs("Bag")[list(in_heap.read_field("Bag", "id")).index(7)]
            for element in range(3):
                expected = [at[offsets[i] + element] if element < lengths[i] else [0, 0, 0] for i in order]
                values = in_heap.array("Bag", "at", element, copy=True).get().view(np.float32).reshape(70, 4)
                np.testing.assert_array_equal(values[:, :3], np.array(expected, np.float32))
            self.assertEqual(in_heap.array("Bag", "friends", 0, copy=True).get().tolist(), [friend] * 70)
            self.assertFalse(in_heap.array("Bag", "friends", 1, copy=True).get().any())
            self.raises("CLUMP_ERR_USAGE", "element 3", in_heap.array, "Bag", "at", 3)
            in_heap.take_errors()
        structs["at_length"] = 1
        heap.write_structs("Bag", structs, refs)
        np.testing.assert_array_equal(heap.read_arrays("Bag", "at", refs)[1], structs["at"][:, 0, :3])
        np.testing.assert_array_equal(np.sort(heap.read_field("Bag", "at")[:, 0, 0]), np.sort(structs["at"][:, 0, 0]))
        for case in (([0, 4], at[:4], refs[:1], "room for 3"), ([0, 2], at[:1], refs[:1], "1 elements"), ([0, 1], at[:1], refs[:2], "must be equal"),
                     ([], at[:1], None, "shape"), ([0, 1], at[:1, :2], refs[:1], "shape"), ([0, -1], at, refs[:1], "ulong")):
            self.raises("CLUMP_ERR_USAGE", case[3], heap.write_arrays, "Bag", "at", case[0], case[1], case[2])
        self.raises("CLUMP_ERR_USAGE", "not an array", heap.read_arrays, "Bag", "id")


class Checked(Case):
    def test_what_is_found(self):
        leaks = []
        heap = clump.Heap(CONTEXT, "class Node { uint id; uint a[4]; }", bytes=4 << 20,
                          checked={"without": ["memory"], "events": 8, "on_leak": leaks.append}, errors_on_request=True)
        program = clump.Program(heap, """
            __kernel void make(CLUMP_HEAP) { CLUMP_FOR_EACH_NEW(Node, self, i) for (uint k = 0; k < 4; k++) Node_a(self, k) = Node_id(self) = i; }
            __kernel void beyond(CLUMP_HEAP_NO_ALLOC, uint k) {
                CLUMP_FOR_EACH(Node, self) if (Node_id(self) == 3) Node_a(self, k) = 7;
            }
            __kernel void drop(CLUMP_HEAP) { CLUMP_FOR_EACH(Node, self) if (Node_id(self) < 6) Node_free(self); }""", name="nodes.cl")
        self.assertEqual(set(clump._heap.CHECKS) - set(heap.checks), {"memory"})
        self.assertEqual((self.fresh().checks, self.fresh().generations), ([], 0))
        self.assertGreater(heap.generations, 1)
        heap.do_new(program.kernel("make"), "Node", 8)
        self.assertEqual(heap.take_findings(), ([], 0))
        heap.do_all(program.kernel("beyond"), np.uint32(5))
        (found,), lost = heap.take_findings()
        self.assertEqual((found["kind"], found["count"], found["class_name"], found["field"], found["index"], lost), ("bounds", 1, "Node", "a", 5, 0))
        self.assertEqual(found["place"], {"kernel": "beyond", "program": "nodes.cl", "line": 4})
        self.assertIn("element 5 of field a", found["text"])
        self.assertIn(found["ref"], heap.read_refs("Node"))
        self.raises("CLUMP_ERR_USAGE", "checked", heap.array, "Node", "id", copy=False)
        self.assertEqual(sorted(heap.array("Node", "id").get()), list(range(8)))
        heap.do_all(program.kernel("drop"))
        events = heap.read_events()
        self.assertEqual((len(events), [event["is_free"] for event in events].count(1)), (8, 6))
        self.assertEqual({event["class_name"] for event in events}, {"Node"})
        (live,) = heap.read_live()
        self.assertEqual((live["class_name"], live["objects"], live["place"]["kernel"]), ("Node", 2, "make"))
        heap.check_memory().wait()
        self.assertEqual(heap.take_findings(), ([], 0))
        self.assertEqual(leaks, [])
        del heap, program
        gc.collect()
        self.assertEqual(len(leaks), 1)
        self.assertIn("2 objects of class Node", leaks[0])
        for call in (self.heap.take_findings, self.heap.read_events, self.heap.read_live, self.heap.check_memory):
            self.raises("CLUMP_ERR_USAGE", "", call)
        with self.assertRaisesRegex(ValueError, "'memry', but must be one of references, bounds"):
            clump.Heap(CONTEXT, SCHEMA, bytes=1 << 20, checked={"without": ["memry"]})
        with self.assertRaisesRegex(TypeError, r"\['memory'\]"):
            clump.Heap(CONTEXT, SCHEMA, bytes=1 << 20, checked={"without": "memory"})
        with self.assertRaisesRegex(TypeError, "on_leak"):
            clump.Heap(CONTEXT, SCHEMA, bytes=1 << 20, checked={"on_leak": 1})


class OutOfCore(Case):
    BATCH = 200000  # stones of 51 bytes: 10 MB

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.evictable = clump.Program(cls.core(), KERNELS)

    @staticmethod
    def core():
        return clump.Heap(CONTEXT, SCHEMA, bytes=16 << 20, evictable_bytes=64 << 20)

    def make(self, heap, kernel, count):
        heap.do_new(self.evictable.kernel(kernel), "Leaf" if kernel == "make_leaves" else "Stone", count)

    def stones(self, heap):
        """What each reference has."""
        names = heap.classes["Stone"]
        return dict(zip(heap.read_refs("Stone").tolist(), zip(*(heap.read_field("Stone", name).tolist() for name in names))))

    @staticmethod
    def evicted(heap):
        return {name: heap.info["evicted_" + name] for name in ("objects", "blocks", "bytes")}

    def test_objects_go_and_come_back(self):
        heap = self.core()
        self.make(heap, "make_stones", 3000)
        self.make(heap, "make_leaves", 400)
        heap.do_all(self.evictable.kernel("chain"))
        before, leaves = self.stones(heap), np.sort(heap.read_field("Leaf", "area"))
        nothing = {"objects": 0, "blocks": 0, "bytes": 0}
        self.assertEqual(self.evicted(heap), nothing)
        report = heap.evict("Stone")
        self.assertEqual(report["objects"], 3000)
        self.assertGreater(report["bytes"], 3000 * 51)
        self.assertEqual(self.evicted(heap), report)
        self.assertEqual((heap.read_count("Thing"), heap.read_count("Stone")), (400, 0))
        self.assertEqual(heap.read_field("Stone", "place").shape, (0, 3))
        np.testing.assert_array_equal(np.sort(heap.read_field("Leaf", "area")), leaves, strict=True)
        self.raises("CLUMP_ERR_USAGE", "", heap.compact)
        self.assertEqual(heap.bring_back("Leaf"), nothing)
        self.assertEqual(heap.bring_back(refs=[]), nothing)
        self.assertEqual(heap.bring_back(), report)
        self.assertEqual(self.evicted(heap), nothing)
        self.assertEqual(self.stones(heap), before)
        heap.compact()
        heap.check()

    def test_more_than_memory(self):
        heap, batches = self.core(), []
        for batch in range(4):
            self.make(heap, "make_stones", self.BATCH)
            heap.write_field("Stone", "weight", np.float32(batch))
            batches.append(heap.read_refs("Stone"))
            self.assertEqual(heap.evict()["objects"], self.BATCH)
        heap.take_errors()
        self.assertEqual(heap.info["evicted_objects"], 4 * self.BATCH)
        self.raises("CLUMP_ERR_DEVICE_MEMORY", "", heap.bring_back)  # all of them have no room,
        self.assertEqual(heap.info["evicted_objects"], 4 * self.BATCH)  # so none came
        for batch in (2, 0, 3, 1):
            self.assertEqual(heap.bring_back(refs=batches[batch])["objects"], self.BATCH)
            self.assertEqual(sorted(heap.read_refs("Stone").tolist()), sorted(batches[batch].tolist()))
            self.assertEqual(set(heap.read_field("Stone", "weight")), {batch})
            np.testing.assert_array_equal(np.sort(heap.read_field("Stone", "number")), np.arange(self.BATCH, dtype=np.uint32))
            heap.evict("Stone")
        heap.check()

    def test_age_and_number_of_blocks(self):
        heap = self.core()
        self.make(heap, "make_stones", 20000)
        for turn in range(3):
            heap.age_blocks()
        self.make(heap, "make_leaves", 20000)
        heap.age_blocks()
        self.assertEqual(heap.evict(age=4)["objects"], 0)
        report = heap.evict(age=2)
        self.assertEqual((report["objects"], heap.read_count("Thing"), heap.read_count("Leaf")), (20000, 20000, 20000))
        self.assertGreater(report["blocks"], 2)
        self.assertEqual(heap.bring_back("Stone", blocks=2)["blocks"], 2)
        self.assertEqual(heap.evict("Stone", blocks=1)["blocks"], 1)
        heap.bring_back()
        self.assertEqual(heap.read_count("Thing"), 40000)

    def test_errors(self):
        heap = self.fresh(5)
        for call in (heap.evict, heap.bring_back, heap.age_blocks):
            self.raises("CLUMP_ERR_USAGE", "evictable_bytes", call)
        self.assertEqual(heap.info["evicted_objects"], 0)
        heap = self.core()
        self.raises("CLUMP_ERR_NOT_FOUND", "Stown", heap.evict, "Stown")
        self.raises("CLUMP_ERR_USAGE", "one of class_name and refs", heap.bring_back, "Stone", refs=[1])
        self.raises("CLUMP_ERR_USAGE", "pool", clump.Heap, CONTEXT, SCHEMA, bytes=16 << 20, evictable_bytes=1 << 20,
                    pool=clump.Pool(CONTEXT))
        self.make(heap, "make_stones", 50)
        self.raises("CLUMP_ERR_USAGE", "evicted", heap.array, "Stone", "weight", copy=False)
        self.assertFalse(self.is_view(heap.array("Stone", "weight"), heap))
        np.testing.assert_array_equal(heap.array("Stone", "weight").get(), np.arange(50, dtype=np.float32) * 0.5, strict=True)


class References(Case):
    def chains(self, heap):
        """For each first stone of a chain the numbers along it."""
        at = dict(zip(heap.read_refs("Stone").tolist(), zip(heap.read_field("Stone", "number").tolist(), heap.read_field("Stone", "next").tolist())))
        found = []
        for number, after in at.values():
            if number % 10 == 0:
                found.append([number])
                while after:
                    number, after = at[after]
                    found[-1].append(number)
        return sorted(found)

    def test_compaction_keeps_chains(self):
        heap = self.fresh(10000)
        heap.do_all(self.kernel("chain"))
        heap.do_all(self.kernel("crack"), np.uint32(5))
        expected = [list(range(n, n + 10)) for n in range(0, 10000, 50)]
        self.assertEqual(self.chains(heap), expected)
        self.assertGreater(heap.compact(["Stone"], max_us=0.001)["moves_left"], 0)
        report = heap.compact(["Stone"])
        self.assertGreater(report["moves"], 0)
        self.assertEqual((report["objects"], report["moves_left"]), (2000, 0))
        self.assertEqual(self.chains(heap), expected)
        heap.compact(order="field", order_field="number")
        self.assertEqual(heap.read_field("Stone", "number").tolist(), sorted(n for chain in expected for n in chain))
        self.assertEqual(self.chains(heap), expected)
        heap.compact(["Stone"], order="key", key_kernel=self.kernel("downwards"))
        self.assertEqual(heap.read_field("Stone", "number").tolist(), sorted((n for chain in expected for n in chain), reverse=True))
        self.assertEqual(self.chains(heap), expected)
        with self.assertRaisesRegex(ValueError, "any, address, field, key"):
            heap.compact(order="random")
        with self.assertRaisesRegex(ValueError, 'Set order="key"'):
            heap.compact(key_kernel=self.kernel("downwards"))
        self.raises("CLUMP_ERR_NOT_FOUND", "Stown", heap.compact, ["Stown"])
        heap.check()

    def test_collection(self):
        heap = self.fresh(1000, 50)
        heap.do_all(self.kernel("chain"))
        refs = heap.read_refs("Stone")
        report = heap.collect(roots=refs[:3], root_classes=["Leaf"], only_mark=True)
        self.assertEqual((report["live"], report["dead"]), (60, 990))
        roots = cl.array.to_device(QUEUE, refs[[0, 100, 205]])
        registered, weak = clump.Refs(heap, roots, 3), clump.Refs(heap, cl.array.to_device(QUEUE, refs[:500]), 500, weak=True)
        heap.compact()
        self.assertEqual(heap.collect()["live"], 25)
        registered.destroy()
        registered.destroy()  # once is enough
        report = heap.collect()
        self.assertEqual((report["live"], report["dead"]), (0, 25))
        del weak

    def test_the_dead(self):
        heap = self.fresh(10000)
        dead, refs = cl.array.zeros(QUEUE, 10001, np.uint32), heap.read_refs("Stone")
        heap.write_field("Stone", "next", refs[0])
        report = heap.collect(roots=refs[::1000], dead=dead.data, dead_class="Stone", finaliser=self.kernel("bury"), compact={})
        self.assertEqual((report["dead"], int(dead.get()[0])), (9990, 9990))
        self.assertEqual(np.count_nonzero(heap.read_field("Stone", "weight") == -1), 1)
        self.assertEqual(heap.read_stats()["classes"]["Stone"]["blocks"], 1)
        heap = self.fresh(10, 5)
        self.assertEqual(heap.collect(dead=dead.data, dead_class="Leaf")["dead"], 15)
        self.assertEqual(int(dead.get()[0]), 5)

    def test_triggers(self):
        heap = self.fresh(10000)
        compactor = clump.Compactor(heap, every=2, classes=["Stone"], order="field", order_field="number")
        collector = clump.Collector(heap, every=3, root_classes=["Stone"])
        gc.collect()  # they keep the names
        heap.do_all(self.kernel("crack"), np.uint32(5))
        self.assertEqual([compactor.tick() is None for _ in range(4)], [True, False, True, False])
        self.assertTrue((np.diff(heap.read_field("Stone", "number").astype(np.int64)) > 0).all())
        self.assertEqual([collector.tick() is None for _ in range(3)], [True, True, False])
        self.assertEqual([collector.tick() for _ in range(2)], [None, None])
        self.assertEqual(collector.tick()["live"], 2000)
        self.raises("CLUMP_ERR_USAGE", "", clump.Compactor, heap)
        self.raises("CLUMP_ERR_USAGE", "", clump.Collector, heap)
        with self.assertRaisesRegex(TypeError, r"\['Stone'\]"):
            clump.Compactor(heap, every=1, classes="Stone")
        del heap
        gc.collect()
        self.assertIsNone(compactor.tick())

    def test_arrays_of_references(self):
        heap = self.fresh(16)
        refs, core = heap.read_refs("Stone"), OutOfCore.core()
        for wrong in (refs[:8].reshape(4, 2), refs.reshape(16, 1), refs > 0, refs.astype(np.float64), refs.astype(np.int64) - 2**32, [-1], [2**32], [1.5],
                      [None], ["1"], np.ma.masked_array(refs, refs > 0), np.zeros((0, 2), np.uint32)):
            for name, call in (("roots", heap.collect), ("refs", core.bring_back)):
                with self.subTest(name=name, refs=wrong):
                    self.raises("CLUMP_ERR_USAGE", name, call, **{name: wrong})
        self.assertEqual(heap.read_count("Stone"), 16)
        for right, live in ((refs[::2], 8), (refs[::-1], 16), (refs[:8].astype(np.int64), 8), (refs.astype(">u4"), 16), (refs[:3].tolist(), 3), (refs[0], 1),
                            (cl.array.to_device(QUEUE, refs[:5]), 5), ([], 0)):
            self.assertEqual(heap.collect(roots=right, only_mark=True)["live"], live)
        zeros = cl.array.zeros(QUEUE, 8, np.uint32)
        for wrong in (zeros.astype(np.float32), zeros.astype(np.uint64), zeros[::2]):
            self.raises("CLUMP_ERR_USAGE", "must be contiguous and of type uint32", clump.Refs, heap, wrong, 4)
        with self.assertRaises(TypeError):
            clump.Refs(heap, QUEUE, 4)

    def test_dump(self):
        heap = self.fresh(300, 7)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "heap.json")
            dump = heap.dump(path)
            with open(path) as file:
                self.assertEqual(json.load(file), dump)
        self.assertEqual({c["name"]: c["objects"] for c in dump["classes"] if c["capacity"]}, {"Stone": 300, "Leaf": 7})

    def test_fused_kernels(self):
        heap = self.fresh(100)
        program = clump.Program(heap, """
            __kernel void grow(CLUMP_HEAP_NO_ALLOC, float by) { CLUMP_FOR_EACH(Stone, self) Stone_weight(self) += by; }
            __kernel void total(CLUMP_HEAP_NO_ALLOC) {
                float sum = 0;
                CLUMP_FOR_EACH(Stone, self) sum += Stone_weight(self);
                CLUMP_REDUCE(float, sum, CLUMP_SUM);
            }
            __kernel void borrow(CLUMP_HEAP_NO_ALLOC) {
                CLUMP_FOR_EACH(Stone, self) Stone_number(self) = (uint)Stone_weight((Stone){self.id});
            }""")
        grow, total = program.kernel("grow"), program.kernel("total")
        both = grow.fuse(total)
        grow.set_args(np.float32(2))
        self.assertEqual(heap.reduce(both, np.float32), np.float32(99 * 100 / 4 + 200))
        grow.set_args(np.float32(1))
        del grow, total
        self.assertEqual(heap.reduce(both, np.float32), np.float32(99 * 100 / 4 + 300))
        self.raises("CLUMP_ERR_USAGE", "Stone.weight", program.kernel("grow").fuse, program.kernel("borrow"))

    def test_another_schema(self):
        heap = self.fresh(1000, 50)
        heap.do_all(self.kernel("chain"))
        chains, refs = self.chains(heap), heap.read_refs("Stone")
        before = {name: heap.read_field("Stone", name) for name in ("number", "weight", "place", "grain", "pair")}
        kept = cl.array.to_device(QUEUE, refs[[0, 100, 205, 300]])
        registered = clump.Refs(heap, kept, 3)
        np.testing.assert_array_equal(heap.array("Stone", "weight", copy=True).get(), before["weight"])
        old = heap.buffer.int_ptr
        self.raises("CLUMP_ERR_SCHEMA", "weight", heap.convert, SCHEMA.replace("float weight", "double weight"))
        self.assertEqual((heap.buffer.int_ptr, self.chains(heap)), (old, chains))
        report = heap.convert("""
            abstract class Thing { uint number; ref Thing next; }
            aos class Stone : Thing { short grain[3]; uint age; int2 pair[2]; float3 place; float weight; }
            class Leaf : Thing { double area; uchar colour[4] packed; ref Stone under; }""", bytes=8 << 20, block_rows=2)
        self.assertEqual(report, {"objects": 1050, "dangling": 0, "fields_lost": 1, "fields_gained": 2})
        self.assertLess(abs(heap.dump()["bytes"] - (8 << 20)), 8 << 10)  # in whole blocks
        self.assertEqual(set(heap.classes["Stone"]), {"number", "next", "grain", "age", "pair", "place", "weight"})
        for name, values in before.items():
            np.testing.assert_array_equal(heap.read_field("Stone", name), values, strict=True)
        self.assertEqual((set(heap.read_field("Stone", "age")), set(heap.read_field("Leaf", "under"))), ({0}, {0}))
        self.assertEqual(self.chains(heap), chains)
        number = dict(zip(heap.read_refs("Stone").tolist(), heap.read_field("Stone", "number").tolist()))
        followed = kept.get().tolist()
        self.assertEqual([number[ref] for ref in followed[:3]], [0, 100, 205])
        self.assertEqual(followed[3], refs[300])  # not registered
        for copy in (None, True):
            np.testing.assert_array_equal(heap.array("Stone", "weight", copy=copy).get(), before["weight"], strict=True)
        self.raises("CLUMP_ERR_USAGE", "", heap.do_all, self.kernel("chain"))
        program = clump.Program(heap, """
            __kernel void grow_old(CLUMP_HEAP_NO_ALLOC) { CLUMP_FOR_EACH(Stone, self) Stone_age(self) = Stone_number(self) + 1; }""")
        heap.do_all(program.kernel("grow_old"))
        np.testing.assert_array_equal(heap.read_field("Stone", "age"), before["number"] + 1)
        self.raises("CLUMP_ERR_SCHEMA", "in line 1", heap.convert, "class Stone { flot x; }")
        heap.check()
        del registered

    def test_files(self):
        heap = self.fresh(1000)
        heap.do_all(self.kernel("chain"))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "stones.clump")
            self.assertEqual(heap.save(path)["objects"], 1000)
            again = clump.Heap(CONTEXT, SCHEMA, bytes=4 << 20)
            self.assertEqual(again.load(path)["objects"], 1000)
            self.assertEqual(self.chains(again), self.chains(heap))
            np.testing.assert_array_equal(again.read_field("Stone", "place"), heap.read_field("Stone", "place"), strict=True)
            with open(path, "r+b") as file:
                file.seek(100)
                file.write(b"?")
            self.raises("CLUMP_ERR_FORMAT", "", self.fresh().load, path)
            registered = clump.Refs(heap, cl.array.to_device(QUEUE, heap.read_refs("Stone")), 1000)
            heap.save(path)
            self.raises("CLUMP_ERR_USAGE", "", self.fresh().load, path)
            self.assertEqual(self.fresh().load(path, without_registered=True)["objects"], 1000)
            with self.assertRaisesRegex(clump.Error, "zstd"):  # no such level, or a library without zstd
                heap.save(path, zstd_level=99)
            del registered
        self.raises("CLUMP_ERR_IO", "no-such-folder", heap.save, "no-such-folder/heap")

    def test_copy(self):
        heap, copy = self.fresh(1000), self.fresh(10)
        heap.do_all(self.kernel("chain"))
        heap.copy(copy)
        chains = self.chains(heap)
        heap.write_field("Stone", "place", np.zeros((1000, 3), np.float32))
        self.assertEqual(self.chains(copy), chains)
        self.assertNotEqual(copy.read_field("Stone", "place").max(), 0)
        copy.check()
        self.raises("CLUMP_ERR_USAGE", "two heaps", heap.copy, heap)

    def test_extracts(self):
        heap, into = self.fresh(1000, 50), self.fresh(10)
        heap.do_all(self.kernel("chain"))
        at, chain = dict(zip(heap.read_field("Stone", "number").tolist(), heap.read_refs("Stone"))), [list(range(40, 50))]
        extract = heap.extract(at[40], follow=True, keep_refs=True)
        self.assertEqual((extract.report["objects"], extract.objects, extract.bytes), (10, {"Stone": 10}, extract.buffer.size))
        had = np.zeros(10, np.uint32)
        cl.enqueue_copy(QUEUE, had, extract.refs)
        self.assertEqual(sorted(had), sorted(at[n] for n in range(40, 50)))
        there = clump.Extract(clump.Context(QUEUE), SCHEMA, extract.objects, extract.read())  # of another context
        self.assertIsNone(there.refs)
        self.assertEqual(there.read(), extract.read())
        refs = into.insert(extract)
        self.assertEqual((into.read_count("Stone"), len(refs), set(refs) < set(into.read_refs("Stone"))), (20, 10, True))
        self.assertEqual(self.chains(into)[-1:], chain)
        self.assertEqual(heap.extract(classes=["Leaf"], free_objects=True).objects, {"Leaf": 50})
        self.assertEqual(heap.read_count("Leaf"), 0)
        wet = heap.extract(where_class="Stone", where_field="wet").report
        self.assertEqual(wet["objects"], 334)
        self.assertEqual(heap.migrate(into, [at[n] for n in range(40, 50)]).report["objects"], 10)
        self.assertEqual((heap.read_count("Stone"), into.read_count("Stone")), (990, 30))
        self.assertEqual(self.chains(into)[-2:], chain * 2)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "stones.clump")
            heap.save(path)
            into.insert(clump.Extract.load(CONTEXT, path))
        self.assertEqual(into.read_count("Stone"), 1020)
        self.raises("CLUMP_ERR_USAGE", "", heap.extract)
        self.raises("CLUMP_ERR_USAGE", "", clump.Extract, CONTEXT, SCHEMA, {"Stone": 10}, b"1234")
        self.raises("CLUMP_ERR_USAGE", "context", into.insert, there)
        self.assertEqual(heap.extract([]).report["objects"], 0)
        self.assertIs(heap.context, CONTEXT)
        into.check()

    def test_timeline(self):
        context = clump.Context(cl.CommandQueue(QUEUE.context, properties=cl.command_queue_properties.PROFILING_ENABLE))
        heap = clump.Heap(context, SCHEMA, bytes=16 << 20)
        make = clump.Program(heap, KERNELS).kernel("make_stones")
        context.record_timeline(1000)
        heap.do_new(make, "Stone", 10)
        heap.compact()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            trace = context.write_timeline(path)
            with open(path) as file:
                self.assertEqual(json.load(file), trace)
        names = {event["name"] for event in trace["traceEvents"]}
        self.assertTrue({"make_stones"} < names, names)
        self.raises("CLUMP_ERR_USAGE", "profiling", CONTEXT.record_timeline, 10)


class Pools(Case):
    def setUp(self):
        # A pool's buffers wait for each queue that its context ever had, and other tests give CONTEXT more than one.
        self.context = clump.Context(QUEUE)

    def test_arrays_keep_their_contents(self):
        pool = clump.Pool(self.context, chunk_bytes=1 << 20)
        allocator, kept, numbers = clump.PoolAllocator(pool), {}, random.Random(3)
        for turn in range(300):
            if len(kept) > 20:
                del kept[numbers.choice(list(kept))]
            array = cl.array.arange(QUEUE, numbers.randrange(1, 5000), dtype=np.int32, allocator=allocator)
            kept[turn] = array * turn + 1  # the temporary arrays go back at once
        for turn, array in kept.items():
            np.testing.assert_array_equal(array.get(), np.arange(array.size, dtype=np.int32) * turn + 1)
        self.assertGreaterEqual(pool.stats["allocations"], len(kept))
        self.assertGreater(pool.stats["allocated"], 600)
        pool.check()
        kept.clear()
        del array
        gc.collect()
        self.assertEqual(pool.stats["allocations"], 0)
        QUEUE.finish()
        pool.trim()
        self.assertEqual(pool.stats["bytes"], 0)

    def test_a_region_waits_for_its_commands(self):
        pool = clump.Pool(self.context)
        gate = self.gate()
        buffer = pool.create_buffer(4096)
        cl.enqueue_fill_buffer(QUEUE, buffer, np.uint8(1), 0, 4096, wait_for=[gate])
        del buffer
        stats = pool.stats  # the device has let go of the buffer already, or not yet
        self.assertTrue(stats["waiting_bytes"] >= 4096 or stats["allocations"] == 1, stats)
        self.open(gate)
        QUEUE.finish()
        pool.trim()
        self.assertEqual((pool.stats["waiting_bytes"], pool.stats["allocations"]), (0, 0))

    def test_a_region_waits_for_all_queues_of_the_context(self):
        for is_early in (False, True):  # the buffer is made before the queue is another one
            context, other, gate = clump.Context(QUEUE), cl.CommandQueue(QUEUE.context), self.gate()
            pool = clump.Pool(context)
            allocator = clump.PoolAllocator(pool)
            buffer = allocator(4096) if is_early else None
            context.queue = other
            buffer = buffer or allocator(4096)
            cl.enqueue_fill_buffer(other, buffer, np.uint8(1), 0, 4096)
            cl.enqueue_marker(other, wait_for=[gate])  # as a command with the buffer would wait
            del buffer
            for _ in range(2):
                QUEUE.finish()
                stats = pool.stats
                self.assertTrue(stats["waiting_bytes"] >= 4096 or stats["allocations"] == 1, stats)
            self.open(gate)
            other.finish()
            pool.trim()
            self.assertEqual((pool.stats["waiting_bytes"], pool.stats["allocations"]), (0, 0))
            late = clump.Pool(context)  # it knows of both queues, too
            self.assertEqual(late.create_buffer(64).size, 64)
            self.raises("CLUMP_ERR_USAGE", "the pool's clump.Context", clump.Heap, QUEUE, SCHEMA, bytes=1 << 20, pool=late)
            with self.assertRaisesRegex(TypeError, "pyopencl.CommandQueue"):
                context.queue = QUEUE.context

    def test_a_full_pool_waits_for_its_commands(self):
        pool = clump.Pool(self.context, chunk_bytes=1 << 20, limit_bytes=1 << 20)
        allocator = clump.PoolAllocator(pool, QUEUE)
        array = cl.array.zeros(QUEUE, 120000, dtype=np.int32, allocator=allocator)
        for turn in range(50):
            array = array + 1  # two arrays fill the chunk: what goes must come back first
        self.assertEqual(int(array.get().sum()), 120000 * 50)
        self.assertLessEqual(pool.stats["bytes"], 1 << 20)
        kept = [array, pool.create_buffer(480000)]
        self.raises("CLUMP_ERR_DEVICE_MEMORY", "", pool.create_buffer, 480000)
        del kept

    def test_buffers_outlive_their_pool(self):
        pool = clump.Pool(CONTEXT)
        array = cl.array.arange(QUEUE, 1000, dtype=np.int32, allocator=clump.PoolAllocator(pool))
        del pool
        gc.collect()
        array += 1
        self.assertEqual(int(array.get()[-1]), 1000)

    def test_limit_and_heap(self):
        pool = clump.Pool(CONTEXT, limit_bytes=48 << 20)
        self.raises("CLUMP_ERR_DEVICE_MEMORY", "", pool.create_buffer, 64 << 20)
        heap = clump.Heap(CONTEXT, SCHEMA, bytes=16 << 20, pool=pool)
        self.assertEqual(pool.stats["allocations"], 1)
        heap.do_new(self.kernel("make_stones"), "Stone", 10)
        self.assertEqual(heap.read_count("Stone"), 10)
        del heap
        gc.collect()
        self.assertEqual(pool.stats["allocations"], 0)


class Lifetimes(Case):
    def test_nothing_is_left(self):
        queue = cl.CommandQueue(QUEUE.context)
        count = lambda: queue.get_info(cl.command_queue_info.REFERENCE_COUNT)
        before = count()
        for order in range(6):
            things = [clump.Context(queue)]
            things.append(clump.Heap(things[0], SCHEMA, bytes=4 << 20))
            things.append(clump.Program(things[1], KERNELS))
            things.append(things[2].kernel("make_stones"))
            things[1].do_new(things[3], "Stone", 10)
            self.assertEqual(things[1].read_count("Stone"), 10)
            self.assertGreater(count(), before)
            random.Random(order).shuffle(things)
            while things:
                things.pop()
            gc.collect()
            queue.finish()
            self.assertEqual(count(), before)

    def test_threads(self):
        """Heaps of two threads, and garbage that either of them may find."""
        wrong = []

        def work(number):
            try:
                context = clump.Context(cl.CommandQueue(QUEUE.context))
                for turn in range(10):
                    heap = clump.Heap(context, SCHEMA, bytes=4 << 20)
                    heap.cycle = heap
                    heap.do_new(clump.Program(heap, KERNELS).kernel("make_stones"), "Stone", 100 + number)
                    if heap.read_count("Stone") != 100 + number:
                        wrong.append((number, turn))
                    del heap
                    gc.collect()
            except Exception as error:  # a thread's own would not fail the test
                wrong.append(error)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_the_end(self):
        """Objects of the library stay as long as methods of Python can use them: in garbage, and at the end of the interpreter."""
        for threads, at_end in (0, ["end: 8", "end: 9"]), (1, []):  # a daemon thread keeps all objects of its module
            done = subprocess.run([sys.executable, "-c", END, str(threads)], capture_output=True, text=True, timeout=300)
            self.assertEqual((done.returncode, done.stdout.splitlines(), done.stderr), (0, ["garbage: 7", "atexit: 8", *at_end], ""))


END = """
import atexit, gc, sys, threading, pyopencl as cl, clump
device = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(device)
context = clump.Context(queue)
class Held:
    def __init__(self, word, count, is_cycle):
        self.heap, self.pool, self.word = clump.Heap(context, SCHEMA, bytes=1 << 20), clump.Pool(context), word
        kernel = clump.Program(self.heap, KERNEL).kernel("make")
        self.heap.do_new(kernel, "A", count)
        self.registered = clump.Refs(self.heap, cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 64), 1)
        self.this = self if is_cycle else None
    def __del__(self):
        self.pool.create_buffer(64)
        print(f"{self.word}: {self.heap.read_count('A')}")
SCHEMA, KERNEL = "class A { uint x; }", "__kernel void make(CLUMP_HEAP) { CLUMP_FOR_EACH_NEW(A, self, i) A_x(self) = i; }"
Held("garbage", 7, True)
gc.collect()
end, cycle = Held("end", 8, False), Held("end", 9, True)
atexit.register(lambda: print("atexit:", end.heap.read_count("A")))
busy, begun = clump.Heap(clump.Context(queue), SCHEMA, bytes=1 << 20), threading.Event()
def run():
    while True:
        busy.read_count("A")
        begun.set()
for _ in range(int(sys.argv[1])):
    threading.Thread(target=run, daemon=True).start()
    begun.wait()
"""


if __name__ == "__main__":
    unittest.main()
