/* Free ranges in a search tree, for the strategies that promise a certain one.
 *
 * First and worst fit order it by offset and keep the largest size below each node; best fit
 * orders it by size, then offset. A treap, since it balances itself by numbers that need not be
 * stored.
 *
 * Read first: suballoc.h.
 */
#include "suballoc/suballoc.h"

static uint32_t priority(uint32_t node) {
    uint32_t x = node * 2654435769u;
    x ^= x >> 15;
    return x * 2246822519u;
}

static int is_before(const clump_suballoc *s, uint32_t a, uint32_t b) {
    const clumpi_node *x = clumpi_node_at(s, a), *y = clumpi_node_at(s, b);
    if (s->fit == CLUMP_FIT_BEST && x->size != y->size) return x->size < y->size;
    return x->offset < y->offset;
}

static uint64_t max_of(const clump_suballoc *s, uint32_t node) {
    return node ? clumpi_link_at(s, node)->max : 0;
}

static uint32_t updated(clump_suballoc *s, uint32_t node) {
    clumpi_tree_link *link = clumpi_link_at(s, node);
    uint64_t max = clumpi_node_at(s, node)->size;
    uint64_t left = max_of(s, link->left), right = max_of(s, link->right);
    if (left > max) max = left;
    link->max = right > max ? right : max;
    return node;
}

/* Cut the tree into what is before `key` and what is not. */
static void split(clump_suballoc *s, uint32_t tree, uint32_t key, uint32_t *low, uint32_t *high) {
    if (!tree) {
        *low = *high = 0;
        return;
    }
    clumpi_tree_link *link = clumpi_link_at(s, tree);
    if (is_before(s, tree, key)) {
        split(s, link->right, key, &link->right, high);
        *low = updated(s, tree);
    } else {
        split(s, link->left, key, low, &link->left);
        *high = updated(s, tree);
    }
}

static uint32_t join(clump_suballoc *s, uint32_t low, uint32_t high) {
    if (!low || !high) return low ? low : high;
    if (priority(low) > priority(high)) {
        clumpi_tree_link *link = clumpi_link_at(s, low);
        link->right = join(s, link->right, high);
        return updated(s, low);
    }
    clumpi_tree_link *link = clumpi_link_at(s, high);
    link->left = join(s, low, link->left);
    return updated(s, high);
}

static uint32_t insert(clump_suballoc *s, uint32_t tree, uint32_t node) {
    if (!tree || priority(node) > priority(tree)) {
        clumpi_tree_link *link = clumpi_link_at(s, node);
        split(s, tree, node, &link->left, &link->right);
        return updated(s, node);
    }
    clumpi_tree_link *link = clumpi_link_at(s, tree);
    uint32_t *side = is_before(s, node, tree) ? &link->left : &link->right;
    *side = insert(s, *side, node);
    return updated(s, tree);
}

static uint32_t removed(clump_suballoc *s, uint32_t tree, uint32_t node) {
    clumpi_tree_link *link = clumpi_link_at(s, tree);
    if (tree == node) return join(s, link->left, link->right);
    uint32_t *side = is_before(s, node, tree) ? &link->left : &link->right;
    *side = removed(s, *side, node);
    return updated(s, tree);
}

void clumpi_tree_insert(clump_suballoc *s, uint32_t node) {
    s->root = insert(s, s->root, node);
}

void clumpi_tree_remove(clump_suballoc *s, uint32_t node) {
    s->root = removed(s, s->root, node);
}

/* The lowest offset that fits; only subtrees with a node of the size are entered. */
static uint32_t find_first(const clump_suballoc *s, uint32_t tree, uint64_t units, uint64_t align) {
    if (max_of(s, tree) < units) return 0;
    const clumpi_tree_link *link = clumpi_link_at(s, tree);
    uint32_t found = find_first(s, link->left, units, align);
    if (found) return found;
    if (clumpi_node_fits(clumpi_node_at(s, tree), units, align)) return tree;
    return find_first(s, link->right, units, align);
}

/* The smallest that fits: the first in the tree's order. */
static uint32_t find_best(const clump_suballoc *s, uint32_t tree, uint64_t units, uint64_t align) {
    if (max_of(s, tree) < units) return 0;
    const clumpi_tree_link *link = clumpi_link_at(s, tree);
    if (clumpi_node_at(s, tree)->size >= units) {
        uint32_t found = find_best(s, link->left, units, align);
        if (found) return found;
        if (clumpi_node_fits(clumpi_node_at(s, tree), units, align)) return tree;
    }
    return find_best(s, link->right, units, align);
}

/* The largest that fits, if alignment rules the very largest out. */
static void find_worst(const clump_suballoc *s, uint32_t tree, uint64_t units, uint64_t align,
                       uint32_t *found) {
    if (max_of(s, tree) < (*found ? clumpi_node_at(s, *found)->size + 1 : units)) return;
    const clumpi_tree_link *link = clumpi_link_at(s, tree);
    const clumpi_node *n = clumpi_node_at(s, tree);
    find_worst(s, link->left, units, align, found);
    if (clumpi_node_fits(n, units, align) && (!*found || n->size > clumpi_node_at(s, *found)->size))
        *found = tree;
    find_worst(s, link->right, units, align, found);
}

uint32_t clumpi_tree_find(const clump_suballoc *s, uint64_t units, uint64_t align) {
    if (s->fit == CLUMP_FIT_FIRST) return find_first(s, s->root, units, align);
    if (s->fit == CLUMP_FIT_BEST) return find_best(s, s->root, units, align);
    uint64_t largest = max_of(s, s->root);
    if (largest < units) return 0;
    uint32_t found = find_first(s, s->root, largest, 1);
    if (clumpi_node_fits(clumpi_node_at(s, found), units, align)) return found;
    found = 0;
    find_worst(s, s->root, units, align, &found);
    return found;
}

static int64_t check(const clump_suballoc *s, uint32_t tree) {
    if (!tree) return 0;
    const clumpi_tree_link *link = clumpi_link_at(s, tree);
    const clumpi_node *n = clumpi_node_at(s, tree);
    if (n->state != CLUMPI_NODE_FREE) return -1;
    if (link->left && (!is_before(s, link->left, tree) || priority(link->left) > priority(tree)))
        return -1;
    if (link->right && (!is_before(s, tree, link->right) || priority(link->right) > priority(tree)))
        return -1;
    int64_t left = check(s, link->left), right = check(s, link->right);
    uint64_t max = n->size, a = max_of(s, link->left), b = max_of(s, link->right);
    if (a > max) max = a;
    if (b > max) max = b;
    return left < 0 || right < 0 || link->max != max ? -1 : left + right + 1;
}

int64_t clumpi_tree_check(const clump_suballoc *s) {
    return check(s, s->root);
}
