/* A quadtree that is fine along a circle and coarse elsewhere. The circle moves, so each step makes
 * and frees nodes, and compaction keeps them together. The host walks the tree from a handle of its
 * root, and compares its shape. */
#include <clump/clump.h>
#include <clump/compact.h>
#include <clump/quick.h>
#include <clump/refs.h>
#include <clump/structs.h>

enum { LEVELS = 8, SIZE = 1 << LEVELS, NODES_MAX = 100000, STEPS = 6, RADIUS = 60 };

static const char schema[] =
    "class Node {\n"
    "    ref Node child[4];   // all null, or all set\n"
    "    uint x;\n"
    "    uint y;\n"
    "    uint size;\n"
    "    bool merge;\n"
    "}\n";

static const char kernels[] =
    "// Whether the circle crosses the square. Integers, as on the host.\n"
    "int crossed(int x, int y, int size, int cx, int cy) {\n"
    "    int near_x = cx < x ? x : cx > x + size ? x + size : cx;\n"
    "    int near_y = cy < y ? y : cy > y + size ? y + size : cy;\n"
    "    int far_x = cx - x > x + size - cx ? x : x + size;\n"
    "    int far_y = cy - y > y + size - cy ? y : y + size;\n"
    "    int near = (near_x - cx) * (near_x - cx) + (near_y - cy) * (near_y - cy);\n"
    "    int far = (far_x - cx) * (far_x - cx) + (far_y - cy) * (far_y - cy);\n"
    "    return near <= RADIUS * RADIUS && far >= RADIUS * RADIUS;\n"
    "}\n"
    "\n"
    "void fill(CLUMP_HEAP_NO_ALLOC, Node self, uint x, uint y, uint size) {\n"
    "    for (uint i = 0; i < 4; i++) Node_child(self, i) = Node_null;\n"
    "    Node_x(self) = x;\n"
    "    Node_y(self) = y;\n"
    "    Node_size(self) = size;\n"
    "    Node_merge(self) = 0;\n"
    "}\n"
    "__kernel void make_root(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH_NEW(Node, self, i) fill(clump_heap, self, 0, 0, SIZE);\n"
    "}\n"
    "\n"
    "// One level per launch: the next launch visits the children.\n"
    "__kernel void divide(CLUMP_HEAP, int cx, int cy) {\n"
    "    CLUMP_FOR_EACH(Node, self) {\n"
    "        uint x = Node_x(self), y = Node_y(self), half_size = Node_size(self) / 2;\n"
    "        if (half_size == 0 || !Node_is_null(Node_child(self, 0))) continue;\n"
    "        if (!crossed(x, y, Node_size(self), cx, cy)) continue;\n"
    "        for (uint i = 0; i < 4; i++) {\n"
    "            Node child = Node_new();\n"
    "            if (Node_is_null(child)) break;  // no room: the host can ask\n"
    "            uint child_x = x + i % 2 * half_size, child_y = y + i / 2 * half_size;\n"
    "            fill(clump_heap, child, child_x, child_y, half_size);\n"
    "            Node_child(self, i) = child;\n"
    "        }\n"
    "    }\n"
    "}\n"
    "\n"
    "// Two launches, so that no work-item frees a node that another one still reads. The first\n"
    "// marks nodes that are not crossed and have only leaves. The second frees these leaves.\n"
    "__kernel void mark(CLUMP_HEAP_NO_ALLOC, int cx, int cy) {\n"
    "    CLUMP_FOR_EACH(Node, self) {\n"
    "        bool merge = !Node_is_null(Node_child(self, 0)) &&\n"
    "                     !crossed(Node_x(self), Node_y(self), Node_size(self), cx, cy);\n"
    "        for (uint i = 0; merge && i < 4; i++)\n"
    "            merge = Node_is_null(Node_child(Node_child(self, i), 0));\n"
    "        Node_merge(self) = merge;\n"
    "    }\n"
    "}\n"
    "__kernel void merge(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH(Node, self) {\n"
    "        if (!Node_merge(self)) continue;\n"
    "        for (uint i = 0; i < 4; i++) {\n"
    "            Node_free(Node_child(self, i));\n"
    "            Node_child(self, i) = Node_null;\n"
    "        }\n"
    "    }\n"
    "}\n";

static int crossed(int x, int y, int size, int cx, int cy) {
    int near_x = cx < x ? x : cx > x + size ? x + size : cx;
    int near_y = cy < y ? y : cy > y + size ? y + size : cy;
    int far_x = cx - x > x + size - cx ? x : x + size;
    int far_y = cy - y > y + size - cy ? y : y + size;
    int near = (near_x - cx) * (near_x - cx) + (near_y - cy) * (near_y - cy);
    int far = (far_x - cx) * (far_x - cx) + (far_y - cy) * (far_y - cy);
    return near <= RADIUS * RADIUS && far >= RADIUS * RADIUS;
}

typedef struct node { /* `clump-schema --emit-c` writes such structs */
    clump_ref child[4];
    uint32_t x, y, size;
} node;
static const clump_struct_field fields[] = {{"child", offsetof(node, child)},
                                            {"x", offsetof(node, x)},
                                            {"y", offsetof(node, y)},
                                            {"size", offsetof(node, size)}};
static const clump_struct_desc node_desc = {sizeof node_desc, "Node", sizeof(node), 4, fields};

static clump_ref refs[NODES_MAX]; /* in ascending order; nodes in the same order */
static node nodes[NODES_MAX];
static uint64_t count;

static const node *find(clump_ref ref) {
    uint64_t low = 0, high = count;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (refs[middle] < ref)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && refs[low] == ref ? &nodes[low] : NULL;
}

/* The number of nodes in the subtree; a large number if its shape is wrong. */
static uint64_t walk(clump_ref ref, int x, int y, int size, int cx, int cy) {
    const node *n = find(ref);
    int half_size = size / 2, divided = size > 1 && crossed(x, y, size, cx, cy);
    uint64_t all = 1;
    if (!n || (int)n->x != x || (int)n->y != y || (int)n->size != size) return NODES_MAX;
    for (int i = 0; i < 4; i++) {
        if ((n->child[i] != 0) != divided) return NODES_MAX;
        if (divided)
            all +=
                walk(n->child[i], x + i % 2 * half_size, y + i / 2 * half_size, half_size, cx, cy);
    }
    return all;
}

static void move_circle(clump_quick *q, int cx, int cy) {
    clump_kernel *divide = clump_program_get_kernel(q->program, "divide");
    clump_kernel *mark = clump_program_get_kernel(q->program, "mark");
    clump_kernel *merge = clump_program_get_kernel(q->program, "merge");
    divide = clump_kernel_with(divide, CLUMP_ARGS(cx, cy));
    mark = clump_kernel_with(mark, CLUMP_ARGS(cx, cy));
    for (int level = 0; level < LEVELS; level++)
        CLUMP_CHECK(q, clump_heap_do_all(q->heap, divide, NULL));
    for (int level = 0; level < LEVELS; level++) {
        CLUMP_CHECK(q, clump_heap_do_all(q->heap, mark, NULL));
        CLUMP_CHECK(q, clump_heap_do_all(q->heap, merge, NULL));
    }
}

int main(void) {
    char options[64];
    snprintf(options, sizeof options, "-DSIZE=%d -DRADIUS=%d", SIZE, RADIUS);
    clump_quick q;
    clump_quick_desc desc = {.schema = schema, .source = kernels};
    desc.program.options = options;
    desc.heap.bytes = 8 << 20;
    CLUMP_CHECK(&q, clump_quick_open(&q, &desc));
    clump_kernel *make_root = clump_program_get_kernel(q.program, "make_root");

    clump_ref root;
    clump_handle handle; /* follows the root when it moves */
    CLUMP_CHECK(&q, clump_heap_do_new(q.heap, make_root, "Node", 1, NULL, NULL));
    CLUMP_CHECK(&q, clump_heap_read_refs(q.heap, "Node", &root, 1, &count));
    CLUMP_CHECK(&q, clump_heap_create_handle(q.heap, root, &handle));

    int wrong = 0;
    for (int step = 0; step < STEPS; step++) {
        int cx = 70 + 20 * step, cy = 100;
        clump_compact_report report = {.size = sizeof report};
        move_circle(&q, cx, cy);
        CLUMP_CHECK(&q, clump_heap_compact(q.heap, NULL, &report, NULL));
        CLUMP_CHECK(&q, clump_heap_take_errors(q.heap, NULL));
        CLUMP_CHECK(&q, clump_heap_read_handle(q.heap, handle, &root));
        CLUMP_CHECK(&q, clump_heap_read_refs(q.heap, "Node", refs, NODES_MAX, &count));
        CLUMP_CHECK(&q,
                    clump_heap_read_structs(q.heap, &node_desc, NULL, nodes, NODES_MAX, &count));
        int right = walk(root, 0, 0, SIZE, cx, cy) == count &&
                    report.fragmentation_after <= report.fragmentation_before;
        printf("step %d: %d nodes, %s\n", step, (int)count, right ? "right" : "WRONG");
        if (!right) wrong++;
    }
    clump_quick_close(&q);
    return wrong != 0;
}
