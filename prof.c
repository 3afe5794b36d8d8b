#include "clump/suballoc.h"
#include <stdio.h>
#include <stdlib.h>
static unsigned long long st=1;static unsigned rnd(unsigned b){st=st*6364136223846793005u+1442695040888963407u;return (unsigned)(((st>>32)*b)>>32);}
int main(){clump_suballoc*s;clump_suballoc_desc d={.bytes=1ull<<33,.granularity=256};clump_suballoc_create(&d,&s,NULL);
static clump_range r[100000];static unsigned k[1000],z[1000];for(int i=0;i<100000;i++)clump_suballoc_alloc(s,32+rnd(60000),0,0,&r[i],0);
for(int j=0;j<30000;j++){for(int i=0;i<1000;i++){k[i]=rnd(100)*1000+i;z[i]=32+rnd(60000);}for(int i=0;i<1000;i++)clump_suballoc_free(s,r[k[i]]);for(int i=0;i<1000;i++)clump_suballoc_alloc(s,z[i],0,0,&r[k[i]],0);}}
