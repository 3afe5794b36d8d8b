#include "paper.h"
static const paper_run runs[] = {{NULL, NULL, NULL, NULL}};
static const paper_item items[] = {{.name = NULL}};
const paper paper_eichinger = {"eichinger", "eichinger", runs, items};
