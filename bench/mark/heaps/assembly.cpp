/* A CAD assembly as objects of C++, written as HGRAPH1: what assembly.py compiles and runs.
 *
 *   assembly FILE SEED PARTS INSTANCES
 *
 *   document ─► assemblies ⇄ instances ─► parts ─► bodies ─► shells ─► faces ─► loops ─► coedges ─► edges ─► vertices
 *      │             (transforms)           │                   next ─► next ─►   ring, both ways; partner
 *      └─► materials, layers ◄──────────────┴── attributes: a list at each face; meshes: vertices and triangles
 *
 * Boundaries are real: each part is one or a few prisms over polygons, with through holes and
 * pockets. So faces, edges and vertices meet as they do in a solid, and V - E + F - H = 2 (S - G)
 * holds (Euler and Poincare), which build_solid() checks. Lists, rings and owners are those that
 * modelling kernels have: faces of a shell, loops of a face and coedges of a loop are linked lists,
 * and everything refers back to its owner, so the graph is full of cycles.
 *
 * Sizes are drawn: sides of an outline mostly few, now and then many; holes by a geometric law; how
 * often a part is used by a power law (screws are everywhere, most parts once). An object is a
 * node; so is the memory of a std::vector. Of some parts there is an earlier version that nobody
 * holds any more: garbage. Root: the document.
 *
 * Read next: assembly.py.
 */
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace {

enum Kind : uint8_t {
    DOCUMENT,
    ASSEMBLY,
    INSTANCE,
    TRANSFORM,
    PART,
    BODY,
    SHELL,
    FACE,
    LOOP,
    COEDGE,
    EDGE,
    VERTEX,
    POINT,
    SURFACE,
    CURVE,
    MATERIAL,
    LAYER,
    ATTRIBUTE,
    MESH,
    ARRAY,
    KINDS
};
const char kind_names[] =
    "Document\nAssembly\nInstance\nTransform\nPart\nBody\nShell\nFace\nLoop\nCoedge\nEdge\nVertex\n"
    "Point\nSurface\nCurve\nMaterial\nLayer\nAttribute\nMesh\nArray";

struct Object;
using References = std::vector<const Object *>;

/* All that is in the heap. */
struct Object {
    uint32_t number = 0;
    virtual ~Object() = default;
    virtual Kind kind() const = 0;
    virtual size_t bytes() const = 0;
    virtual void trace(References &out) const = 0; /* nulls may be among them */
};

std::vector<std::unique_ptr<Object>> heap;

template <class T, class... Arguments>
T *make(Arguments &&...arguments) {
    auto made = std::make_unique<T>(std::forward<Arguments>(arguments)...);
    T *object = made.get();
    object->number = static_cast<uint32_t>(heap.size());
    heap.push_back(std::move(made));
    return object;
}

template <class Self, Kind K>
struct Of : Object {
    Kind kind() const override {
        return K;
    }
    size_t bytes() const override {
        return sizeof(Self);
    }
};

/* A vector whose memory is an object of its own. */
template <class T>
struct Array : Of<Array<T>, ARRAY> {
    std::vector<T *> of;
    size_t bytes() const override {
        return of.capacity() * sizeof(T *);
    }
    void trace(References &out) const override {
        out.insert(out.end(), of.begin(), of.end());
    }
};

/* Of plain numbers. */
struct Numbers : Of<Numbers, ARRAY> {
    size_t count;
    explicit Numbers(size_t n) : count(n) {
    }
    size_t bytes() const override {
        return count * sizeof(float);
    }
    void trace(References &) const override {
    }
};

struct Point : Of<Point, POINT> {
    double at[3] = {0, 0, 0};
    void trace(References &) const override {
    }
};
struct Transform : Of<Transform, TRANSFORM> {
    double matrix[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    void trace(References &) const override {
    }
};
struct Surface : Of<Surface, SURFACE> { /* a plane, or a cylinder around an axis */
    double origin[3] = {0, 0, 0}, axis[3] = {0, 0, 1}, radius = 0;
    void trace(References &) const override {
    }
};
struct Curve : Of<Curve, CURVE> {
    double origin[3] = {0, 0, 0}, direction[3] = {1, 0, 0}, range[2] = {0, 1};
    Surface *on = nullptr;
    void trace(References &out) const override {
        out.push_back(on);
    }
};
struct Material : Of<Material, MATERIAL> {
    float colour[4] = {1, 1, 1, 1}, roughness = 0.5F, density = 7.8F;
    Material *base = nullptr; /* that it was derived from */
    void trace(References &out) const override {
        out.push_back(base);
    }
};
struct Layer : Of<Layer, LAYER> {
    char name[32] = "";
    Material *material = nullptr;
    Object *document = nullptr;
    void trace(References &out) const override {
        out.insert(out.end(), {material, document});
    }
};
struct Attribute : Of<Attribute, ATTRIBUTE> { /* of an entity: colour, name, tolerance */
    Attribute *next = nullptr;
    Object *owner = nullptr, *value = nullptr;
    void trace(References &out) const override {
        out.insert(out.end(), {next, owner, value});
    }
};

struct Coedge;
struct Loop;
struct Face;
struct Edge;
struct Vertex : Of<Vertex, VERTEX> {
    Edge *edge = nullptr; /* one of those that meet here */
    Point *point = nullptr;
    void trace(References &out) const override;
};
struct Edge : Of<Edge, EDGE> {
    Vertex *start = nullptr, *end = nullptr;
    Coedge *coedge = nullptr; /* one of the two */
    Curve *curve = nullptr;
    Attribute *attribute = nullptr;
    void trace(References &out) const override;
};
struct Coedge : Of<Coedge, COEDGE> {
    Coedge *next = nullptr, *previous = nullptr, *partner = nullptr;
    Edge *edge = nullptr;
    Loop *loop = nullptr;
    int is_reversed = 0;
    void trace(References &out) const override;
};
struct Loop : Of<Loop, LOOP> {
    Loop *next = nullptr;
    Coedge *first = nullptr;
    Face *face = nullptr;
    void trace(References &out) const override;
};
struct Shell;
struct Mesh : Of<Mesh, MESH> {
    Numbers *positions = nullptr, *normals = nullptr, *indices = nullptr;
    Material *material = nullptr;
    Face *face = nullptr;
    void trace(References &out) const override;
};
struct Face : Of<Face, FACE> {
    Face *next = nullptr;
    Loop *loops = nullptr;
    Surface *surface = nullptr;
    Shell *shell = nullptr;
    Attribute *attribute = nullptr;
    Mesh *mesh = nullptr;
    void trace(References &out) const override;
};
struct Body;
struct Shell : Of<Shell, SHELL> {
    Face *faces = nullptr;
    Body *body = nullptr;
    void trace(References &out) const override;
};
struct Part;
struct Body : Of<Body, BODY> {
    Body *next = nullptr;
    Shell *shell = nullptr;
    Part *part = nullptr;
    Transform *transform = nullptr;
    void trace(References &out) const override;
};
struct Part : Of<Part, PART> {
    char name[48] = "";
    Body *bodies = nullptr;
    Material *material = nullptr;
    Layer *layer = nullptr;
    Array<Object> *users = nullptr; /* its instances */
    void trace(References &out) const override {
        out.insert(out.end(), {bodies, material, layer, users});
    }
};
struct Assembly;
struct Instance : Of<Instance, INSTANCE> {
    Part *part = nullptr; /* one of the two */
    Assembly *below = nullptr;
    Assembly *parent = nullptr;
    Transform *transform = nullptr;
    Layer *layer = nullptr;
    Material *painted = nullptr;
    void trace(References &out) const override;
};
struct Assembly : Of<Assembly, ASSEMBLY> {
    char name[48] = "";
    Array<Instance> *children = nullptr;
    Array<Object> *users = nullptr;
    void trace(References &out) const override {
        out.insert(out.end(), {children, users});
    }
};
struct Document : Of<Document, DOCUMENT> {
    Assembly *top = nullptr;
    Array<Part> *parts = nullptr;
    Array<Material> *materials = nullptr;
    Array<Layer> *layers = nullptr;
    void trace(References &out) const override {
        out.insert(out.end(), {top, parts, materials, layers});
    }
};

void Vertex::trace(References &out) const {
    out.insert(out.end(), {edge, point});
}
void Edge::trace(References &out) const {
    out.insert(out.end(), {start, end, coedge, curve, attribute});
}
void Coedge::trace(References &out) const {
    out.insert(out.end(), {next, previous, partner, edge, loop});
}
void Loop::trace(References &out) const {
    out.insert(out.end(), {next, first, face});
}
void Mesh::trace(References &out) const {
    out.insert(out.end(), {positions, normals, indices, material, face});
}
void Face::trace(References &out) const {
    out.insert(out.end(), {next, loops, surface, shell, attribute, mesh});
}
void Shell::trace(References &out) const {
    out.insert(out.end(), {faces, body});
}
void Body::trace(References &out) const {
    out.insert(out.end(), {next, shell, part, transform});
}
void Instance::trace(References &out) const {
    out.insert(out.end(), {part, below, parent, transform, layer, painted});
}

/* ---- Solids ---------------------------------------------------------------------------------- */

std::mt19937 draw;

/* 0 .. n - 1. Not std::uniform_int_distribution, whose numbers differ between libraries. */
uint32_t below(uint32_t n) {
    return static_cast<uint32_t>((uint64_t{draw()} * n) >> 32);
}
bool happens(uint32_t percent) {
    return below(100) < percent;
}

[[noreturn]] void stop(const char *words, const char *more = "") {
    std::fprintf(stderr, "assembly: %s%s\n", words, more);
    std::exit(1);
}

template <class T>
Array<T> *make_array() {
    return make<Array<T>>();
}

Face *add_face(Shell *shell, double radius) {
    Face *face = make<Face>();
    face->surface = make<Surface>();
    face->surface->radius = radius;
    face->shell = shell;
    face->next = shell->faces;
    shell->faces = face;
    return face;
}

Vertex *add_vertex(double x, double y, double z) {
    Vertex *vertex = make<Vertex>();
    vertex->point = make<Point>();
    vertex->point->at[0] = x;
    vertex->point->at[1] = y;
    vertex->point->at[2] = z;
    return vertex;
}

Edge *add_edge(Vertex *start, Vertex *end) {
    Edge *edge = make<Edge>();
    edge->start = start;
    edge->end = end;
    edge->curve = make<Curve>();
    start->edge = end->edge = edge;
    return edge;
}

struct Side { /* an edge, as a loop goes along it */
    Edge *edge;
    bool is_reversed;
};

void add_loop(Face *face, const std::vector<Side> &sides) {
    Loop *loop = make<Loop>();
    loop->face = face;
    loop->next = face->loops;
    face->loops = loop;
    std::vector<Coedge *> ring;
    for (const Side &side : sides) {
        Coedge *coedge = make<Coedge>();
        coedge->edge = side.edge;
        coedge->is_reversed = side.is_reversed;
        coedge->loop = loop;
        if (side.edge->coedge) {
            if (side.edge->coedge->partner) stop("an edge has three faces");
            coedge->partner = side.edge->coedge;
            side.edge->coedge->partner = coedge;
        } else {
            side.edge->coedge = coedge;
            side.edge->curve->on = face->surface;
        }
        ring.push_back(coedge);
    }
    for (size_t i = 0; i < ring.size(); i++) {
        ring[i]->next = ring[(i + 1) % ring.size()];
        ring[i]->previous = ring[(i + ring.size() - 1) % ring.size()];
    }
    loop->first = ring[0];
}

struct Counts { /* of a shell: inner loops are H of the formula, through holes G */
    long vertices = 0, edges = 0, faces = 0, inner = 0, genus = 0;
};

/* Walls around a polygon of n sides between two faces that there are: the outline of a solid, a
 * hole, or a pocket. Two walls are the halves of a cylinder. */
void add_walls(Shell *shell, Face *top, Face *bottom, uint32_t n, double radius, Counts *counts) {
    std::vector<Vertex *> up, down;
    std::vector<Edge *> above, under, between;
    const double turn = 2 * 3.14159265358979 / n, x = below(1000), y = below(1000);
    for (uint32_t i = 0; i < n; i++) {
        up.push_back(
            add_vertex(x + radius * std::cos(i * turn), y + radius * std::sin(i * turn), 1));
        down.push_back(
            add_vertex(x + radius * std::cos(i * turn), y + radius * std::sin(i * turn), 0));
    }
    for (uint32_t i = 0; i < n; i++) {
        above.push_back(add_edge(up[i], up[(i + 1) % n]));
        under.push_back(add_edge(down[i], down[(i + 1) % n]));
        between.push_back(add_edge(down[i], up[i]));
    }
    std::vector<Side> outline, other;
    for (uint32_t i = 0; i < n; i++) {
        Face *wall = add_face(shell, n == 2 ? radius : 0);
        add_loop(wall, {{under[i], false},
                        {between[(i + 1) % n], false},
                        {above[i], true},
                        {between[i], true}});
        outline.push_back({above[i], false});
        other.push_back({under[n - 1 - i], true});
    }
    add_loop(top, outline);
    add_loop(bottom, other);
    counts->vertices += 2L * n;
    counts->edges += 3L * n;
    counts->faces += n;
}

/* Sides of an outline: mostly 4 to 12, now and then hundreds. */
uint32_t draw_sides() {
    uint32_t sides = 4 + below(9);
    while (happens(18) && sides < 400) sides += sides / 2 + below(8);
    return sides;
}

Mesh *make_mesh(Face *face, Material *material, uint32_t triangles) {
    Mesh *mesh = make<Mesh>();
    mesh->positions = make<Numbers>(3 * (triangles + 2));
    mesh->normals = make<Numbers>(3 * (triangles + 2));
    mesh->indices = make<Numbers>(3 * triangles);
    mesh->material = material;
    mesh->face = face;
    return mesh;
}

void add_attribute(Face *face, Object *value) {
    Attribute *attribute = make<Attribute>();
    attribute->next = face->attribute;
    attribute->owner = face;
    attribute->value = value;
    face->attribute = attribute;
}

void decorate(Face *face, const std::vector<Material *> &materials) {
    uint32_t sides = 0;
    for (Loop *loop = face->loops; loop; loop = loop->next) {
        const Coedge *at = loop->first;
        do sides++;
        while ((at = at->next) != loop->first);
    }
    face->mesh = make_mesh(face, materials[below(static_cast<uint32_t>(materials.size()))],
                           sides > 2 ? sides - 2 : 1);
    while (happens(25))
        add_attribute(face, materials[below(static_cast<uint32_t>(materials.size()))]);
    if (happens(10)) add_attribute(face, make<Numbers>(4 + below(12)));
}

Shell *build_solid(Body *body, const std::vector<Material *> &materials) {
    Shell *shell = make<Shell>();
    Counts counts;
    shell->body = body;
    Face *top = add_face(shell, 0), *bottom = add_face(shell, 0);
    counts.faces = 2;
    add_walls(shell, top, bottom, draw_sides(), 100, &counts);
    while (happens(70)) { /* a through hole: a loop more in two faces */
        add_walls(shell, top, bottom, 2 + below(3) * 2, 2, &counts);
        counts.inner += 2;
        counts.genus++;
    }
    while (happens(40)) { /* a pocket has a floor of its own */
        Face *floor = add_face(shell, 0);
        counts.faces++;
        add_walls(shell, top, floor, 4 + below(5), 8, &counts);
        counts.inner++;
    }
    if (counts.vertices - counts.edges + counts.faces - counts.inner != 2 * (1 - counts.genus))
        stop("a solid is none");
    for (Face *face = shell->faces; face; face = face->next) {
        for (Loop *loop = face->loops; loop; loop = loop->next) {
            const Coedge *at = loop->first;
            do
                if (!at->partner || at->next->previous != at) stop("a loop is none");
            while ((at = at->next) != loop->first);
        }
        decorate(face, materials);
    }
    return shell;
}

Part *build_part(uint32_t number, const Document *document) {
    Part *part = make<Part>();
    std::snprintf(part->name, sizeof part->name, "part-%u", number);
    part->material =
        document->materials->of[below(static_cast<uint32_t>(document->materials->of.size()))];
    part->layer = document->layers->of[below(static_cast<uint32_t>(document->layers->of.size()))];
    part->users = make_array<Object>();
    uint32_t bodies = 1;
    while (happens(20)) bodies++;
    for (; bodies; bodies--) {
        Body *body = make<Body>();
        body->part = part;
        body->transform = make<Transform>();
        body->shell = build_solid(body, document->materials->of);
        body->next = part->bodies;
        part->bodies = body;
    }
    return part;
}

/* ---- The assembly ---------------------------------------------------------------------------- */

/* Part 0 most often, then ever less: by a power law with exponent 1 about. */
uint32_t draw_part(uint32_t parts) {
    const double u = draw() / 4294967296.0;
    return static_cast<uint32_t>(std::pow(static_cast<double>(parts) + 1, u)) - 1;
}

void add_child(Assembly *parent, Part *part, Assembly *child, const Document *document) {
    Instance *instance = make<Instance>();
    instance->part = part;
    instance->below = child;
    instance->parent = parent;
    instance->transform = make<Transform>();
    if (happens(30))
        instance->layer =
            document->layers->of[below(static_cast<uint32_t>(document->layers->of.size()))];
    if (happens(5))
        instance->painted =
            document->materials->of[below(static_cast<uint32_t>(document->materials->of.size()))];
    parent->children->of.push_back(instance);
    (part ? part->users : child->users)->of.push_back(instance);
}

/* An assembly with about that many instances of parts. Some assemblies below it were built before,
 * and are used again. */
Assembly *build_assembly(uint32_t instances, uint32_t depth, const Document *document,
                         std::vector<Assembly *> *built) {
    const auto parts = static_cast<uint32_t>(document->parts->of.size());
    Assembly *assembly = make<Assembly>();
    std::snprintf(assembly->name, sizeof assembly->name, "assembly-%zu", built->size());
    assembly->children = make_array<Instance>();
    assembly->users = make_array<Object>();
    uint32_t left = instances;
    while (left) {
        if (depth == 0 || left < 8 || happens(60)) {
            add_child(assembly, document->parts->of[draw_part(parts)], nullptr, document);
            left--;
        } else if (!built->empty() && happens(30)) {
            add_child(assembly, nullptr, (*built)[below(static_cast<uint32_t>(built->size()))],
                      document);
            left--;
        } else {
            const uint32_t share = left / 4 + below(left / 2 + 1);
            add_child(assembly, nullptr, build_assembly(share, depth - 1, document, built),
                      document);
            left -= share;
        }
    }
    built->push_back(assembly);
    return assembly;
}

Document *build(uint32_t parts, uint32_t instances) {
    Document *document = make<Document>();
    document->parts = make_array<Part>();
    document->materials = make_array<Material>();
    document->layers = make_array<Layer>();
    for (uint32_t i = 0; i < 60; i++) {
        Material *material = make<Material>();
        if (i && happens(50)) material->base = document->materials->of[below(i)];
        document->materials->of.push_back(material);
    }
    for (uint32_t i = 0; i < 40; i++) {
        Layer *layer = make<Layer>();
        std::snprintf(layer->name, sizeof layer->name, "layer-%u", i);
        layer->material = document->materials->of[below(60)];
        layer->document = document;
        document->layers->of.push_back(layer);
    }
    for (uint32_t i = 0; i < parts; i++) {
        if (happens(15))
            build_part(i, document); /* an earlier version of it, which nobody holds any more */
        document->parts->of.push_back(build_part(i, document));
    }
    std::vector<Assembly *> built;
    document->top = build_assembly(instances, 8, document, &built);
    return document;
}

/* ---- The file -------------------------------------------------------------------------------- */

void write_words(std::FILE *file, const std::vector<uint32_t> &words) {
    std::vector<uint8_t> bytes;
    bytes.reserve(words.size() * 4);
    for (uint32_t word : words)
        for (int shift = 0; shift < 32; shift += 8)
            bytes.push_back(static_cast<uint8_t>(word >> shift));
    if (!bytes.empty() && std::fwrite(bytes.data(), bytes.size(), 1, file) != 1)
        stop("the file cannot be written");
}

void write_graph(const char *path, const Document *document) {
    std::vector<uint32_t> offset{0}, target, size, kinds;
    References references;
    for (const auto &object : heap) {
        references.clear();
        object->trace(references);
        for (const Object *to : references)
            if (to) target.push_back(to->number);
        offset.push_back(static_cast<uint32_t>(target.size()));
        size.push_back(static_cast<uint32_t>(object->bytes()));
    }
    std::string names(kind_names, sizeof kind_names - 1);
    const auto name_bytes = static_cast<uint32_t>(names.size());
    names.append((4 - names.size() % 4) % 4, '\0');
    std::FILE *file = std::fopen(path, "wb");
    if (!file) stop("cannot write ", path);
    bool is_written = std::fwrite("HGRAPH1", 8, 1, file) == 1;
    write_words(file, {static_cast<uint32_t>(heap.size()), static_cast<uint32_t>(target.size()), 1,
                       KINDS, name_bytes});
    is_written = std::fwrite(names.data(), names.size(), 1, file) == 1 && is_written;
    write_words(file, offset);
    write_words(file, target);
    write_words(file, size);
    write_words(file, {document->number});
    for (const auto &object : heap)
        is_written = std::fputc(object->kind(), file) != EOF && is_written;
    if (std::fclose(file) || !is_written) stop("cannot write ", path);
}

uint32_t parse(const char *text, const char *name) {
    char *end = nullptr;
    const unsigned long value = std::strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || value > 100000000)
        stop(name, " is a number up to 10^8");
    return static_cast<uint32_t>(value);
}

}  // namespace

int main(int argc, char **argv) {
    if (argc != 5) stop("assembly FILE SEED PARTS INSTANCES");
    draw.seed(parse(argv[2], "SEED"));
    const uint32_t parts = parse(argv[3], "PARTS");
    if (!parts) stop("there must be a part");
    write_graph(argv[1], build(parts, parse(argv[4], "INSTANCES")));
    return 0;
}
