/* Fireworks: rockets rise and burst into sparks, and sparks fade. One kernel makes and frees
 * objects. The host computes the same numbers and compares. */
#include <clump/clump.h>
#include <clump/quick.h>

enum { STEPS = 30, ROCKETS = 500, SPARKS = 16, SPARK_LIFE = 6 };

static const char schema[] =
    "class Particle {\n"
    "    float2 at;\n"
    "    float2 speed;\n"
    "    uint life;         // remaining steps\n"
    "    bool rocket;\n"
    "}\n";

static const char kernels[] =
    "__kernel void start(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH_NEW(Particle, self, i) {\n"
    "        Particle_at(self) = (float2)(i, 0);\n"
    "        Particle_speed(self) = (float2)(0, 3);\n"
    "        Particle_life(self) = 3 + i % 4;\n"
    "        Particle_rocket(self) = 1;\n"
    "    }\n"
    "}\n"
    "\n"
    "void burst(CLUMP_HEAP, float2 at) {\n"
    "    for (uint i = 0; i < SPARKS; i++) {\n"
    "        Particle spark = Particle_new();\n"
    "        if (Particle_is_null(spark)) return;   // no room: the host can ask\n"
    "        float angle = 6.2831853f * i / SPARKS;\n"
    "        Particle_at(spark) = at;\n"
    "        Particle_speed(spark) = (float2)(cos(angle), sin(angle));\n"
    "        Particle_life(spark) = SPARK_LIFE;\n"
    "        Particle_rocket(spark) = 0;\n"
    "    }\n"
    "}\n"
    "\n"
    "// This launch does not visit the sparks that it makes. The next launch does.\n"
    "__kernel void fly(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH(Particle, self) {\n"
    "        Particle_at(self) += Particle_speed(self);\n"
    "        Particle_speed(self).y -= 0.1f;\n"
    "        if (--Particle_life(self) > 0) continue;\n"
    "        if (Particle_rocket(self)) burst(clump_heap, Particle_at(self));\n"
    "        Particle_free(self);\n"
    "    }\n"
    "}\n";

/* The same on the host, with counts only: rockets and sparks by remaining steps. */
typedef struct model {
    uint64_t rockets[8], sparks[SPARK_LIFE + 1];
} model;

static void model_start(model *m) {
    for (int i = 0; i < ROCKETS; i++) m->rockets[3 + i % 4]++;
}

static uint64_t model_step(model *m) {
    uint64_t bursts = m->rockets[1], all = bursts * SPARKS;
    for (int life = 1; life < 7; life++) m->rockets[life] = m->rockets[life + 1];
    for (int life = 1; life < SPARK_LIFE; life++) m->sparks[life] = m->sparks[life + 1];
    m->sparks[SPARK_LIFE] = bursts * SPARKS;
    for (int life = 1; life < 7; life++) all += m->rockets[life];
    for (int life = 1; life < SPARK_LIFE; life++) all += m->sparks[life];
    return all;
}

int main(void) {
    clump_quick q;
    clump_quick_desc desc = {.schema = schema, .source = kernels};
    char options[64];
    snprintf(options, sizeof options, "-DSPARKS=%d -DSPARK_LIFE=%d", SPARKS, SPARK_LIFE);
    desc.program.options = options;
    CLUMP_CHECK(&q, clump_quick_open(&q, &desc));
    clump_kernel *start = clump_program_get_kernel(q.program, "start");
    clump_kernel *fly = clump_program_get_kernel(q.program, "fly");

    model m = {0};
    int wrong = 0;
    for (int s = 0; s < STEPS; s++) {
        uint64_t count, expected;
        if (s % 10 == 0) {
            CLUMP_CHECK(&q, clump_heap_do_new(q.heap, start, "Particle", ROCKETS, NULL, NULL));
            model_start(&m);
        }
        CLUMP_CHECK(&q, clump_heap_do_all(q.heap, fly, NULL));
        CLUMP_CHECK(&q, clump_heap_read_count(q.heap, "Particle", &count));
        expected = model_step(&m);
        if (count != expected) wrong++;
        if (s % 3 == 2) printf("step %2d: %4d particles\n", s + 1, (int)count);
    }
    CLUMP_CHECK(&q, clump_heap_take_errors(q.heap, NULL)); /* no allocation failed */
    printf("%d of %d steps differ from the count of the host\n", wrong, STEPS);
    clump_quick_close(&q);
    return wrong != 0;
}
