"""Compaction and collection: their descriptions, and classes that run them automatically."""
from ._context import owned, report_dict, words
from ._library import ffi, lib
from ._values import c_names, c_text, c_word, pointer, refs_array, sized

ORDERS = words("clump_compact_order")


def compact_desc(classes=(), null_dangling=False, slack=0.0, max_moves=0, max_us=0.0, order="any", order_field=None, key_kernel=None):
    """The desc, and the objects that must live as long."""
    names, kept = c_names("classes", classes)
    for name, value, its_order in (("order_field", order_field, "field"), ("key_kernel", key_kernel, "key")):
        if value is not None and order != its_order:
            raise ValueError(f'{name} is {value!r}, but order is {order!r}. Set order="{its_order}"')
    field = ffi.new("char[]", c_text("order_field", order_field)) if order_field is not None else ffi.NULL
    key = key_kernel._object if key_kernel is not None else ffi.NULL
    desc = sized("clump_compact_desc *", {"classes": names, "class_count": len(kept), "null_dangling": null_dangling, "slack": slack,
                                          "max_moves": max_moves, "max_us": max_us, "order": c_word("order", order, ORDERS),
                                          "order_field": field, "key_kernel": key})
    return desc, [names, kept, field, key]


def collect_desc(roots=(), root_classes=(), only_mark=False, dead=None, dead_class=None, finaliser=None, compact=None):
    """Likewise."""
    names, kept = c_names("root_classes", root_classes)
    refs = refs_array("roots", roots)
    roots = ffi.from_buffer("uint32_t[]", refs)
    after, kept_after = compact_desc(**compact) if compact is not None else (ffi.NULL, None)
    of_dead = ffi.new("char[]", c_text("dead_class", dead_class)) if dead_class is not None else ffi.NULL
    last = finaliser._object if finaliser is not None else ffi.NULL
    desc = sized("clump_collect_desc *", {"roots": roots, "root_count": len(refs), "root_classes": names, "root_class_count": len(kept),
                                          "only_mark": only_mark, "dead": pointer("cl_mem", dead) if dead is not None else ffi.NULL,
                                          "dead_class": of_dead, "finaliser": last, "compact": after})
    return desc, [names, kept, refs, roots, after, kept_after, of_dead, last, dead]


class _Trigger:
    def _make(self, heap, kind, desc, kept):
        made = ffi.new(f"clump_{kind} **")
        self._context, self._kind = heap._context, kind
        self._context._call(getattr(lib, f"clump_{kind}_create"), desc, made, ffi.NULL)
        self._object = owned(made[0], getattr(lib, f"clump_{kind}_destroy"), [self._context._lock], heap._object, kept)

    def _tick(self, report):
        ran = ffi.new("int *")
        self._context._call(getattr(lib, f"clump_{self._kind}_tick"), self._object, ran, report, ffi.NULL)
        return report_dict(report) if ran[0] else None


class Compactor(_Trigger):
    """Compacts a heap automatically (clump/compactor.h). tick() compacts at every `every`-th call, or when that many blocks
    (`candidates`) or such a `share` of all blocks could be freed, or when it pays (`automatic`). options: the parameters of
    Heap.compact()."""

    def __init__(self, heap, every=0, candidates=0, share=0.0, automatic=False, cost_limit=0.0, **options):
        compact, kept = compact_desc(**options)
        desc = sized("clump_compactor_desc *", {"heap": heap._object, "compact": compact, "every": every, "candidates": candidates,
                                                "share": share, "automatic": automatic, "cost_limit": cost_limit})
        self._make(heap, "compactor", desc, [kept])

    def tick(self):
        """Call it once a step. Returns the report of a compaction, or None if nothing was compacted."""
        return self._tick(sized("clump_compact_report *"))


class Collector(_Trigger):
    """Collects garbage automatically (clump/collector.h). tick() collects at every `every`-th call, or when a share of the blocks is in
    use (`fill`, and `growth` more than after the last collection), or when an allocation has returned null (`out_of_memory`). options:
    the parameters of Heap.collect()."""

    def __init__(self, heap, every=0, fill=0.0, growth=0.0, out_of_memory=False, **options):
        collect, kept = collect_desc(**options)
        desc = sized("clump_collector_desc *", {"heap": heap._object, "collect": collect, "every": every, "fill": fill, "growth": growth,
                                                "out_of_memory": out_of_memory})
        self._make(heap, "collector", desc, [kept])

    def tick(self):
        """Call it where only roots have references. Returns the report of a collection, or None if nothing was collected."""
        return self._tick(sized("clump_collect_report *"))
