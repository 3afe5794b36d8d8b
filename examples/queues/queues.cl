/* A network of queues: customers wait at stations, are served and go on to another station. A step
 * has four kernels, each a do-all over the stations: serve, make_room, move and sort_arrivals.
 * queues.c defines STATIONS and WAYS. */

CLUMP_MAP_DEFINE(Ways, Way, uint, uint);

static uint random_of(uint customer, uint visits) { /* queues.c has the same */
    uint x = customer * 2654435761u ^ visits * 2246822519u;
    x = (x ^ x >> 15) * 2246822519u;
    x = (x ^ x >> 13) * 3266489917u;
    return x ^ x >> 16;
}

__kernel void make_network(CLUMP_HEAP, __global Network *root) {
    CLUMP_FOR_EACH_NEW(Network, self, i) {
        root[0] = self;
        Network_ways(self) = Ways_null;
        if (Network_stations_resize(self, STATIONS) != CLUMP_DONE) return;
        Ways ways = Ways_new();
        if (Ways_is_null(ways)) return;
        Network_ways(self) = ways;
        if (Ways_heads_resize(ways, STATIONS) != CLUMP_DONE)
            return; /* no room: the heap reports it */
    }
}

__kernel void make_stations(CLUMP_HEAP, __global const Network *root) {
    CLUMP_FOR_EACH_NEW(Station, self, i) {
        Network_stations(root[0], i) = self;
        Station_number(self) = i;
        Station_served(self) = Station_coming(self) = Station_waited(self) = 0;
        Station_done(self) = Customer_null;
    }
}

/* The first customer of a queue is served. A customer who is done chooses the next station. */
__kernel void serve(CLUMP_HEAP_NO_ALLOC, __global const Network *root) {
    CLUMP_FOR_EACH(Station, self) {
        Station_done(self) = Customer_null;
        if (Station_queue_length(self) == 0) continue;
        Customer customer = Station_queue(self, 0);
        if (--Customer_work(customer) > 0) continue;
        uint drawn = random_of(Customer_id(customer), ++Customer_visits(customer));
        Customer_work(customer) = 1 + drawn / 64 % 4;
        Customer_way(customer) = drawn % WAYS;
        Station_done(self) = customer;
        Station_served(self)++;
        if (Customer_way(customer) == 0) continue; /* this one goes home */
        uint to = (Station_number(self) * 7 + Customer_way(customer) * 77) % STATIONS;
        CLUMP_ATOMIC_ADD(Station_coming(Network_stations(root[0], to)), 1u);
    }
}

/* Each station removes the customer who is done, and makes room for those who come. */
__kernel void make_room(CLUMP_HEAP, uint step) {
    CLUMP_FOR_EACH(Station, self) {
        uint n = Station_queue_length(self), id = step * STATIONS + Station_number(self);
        if (!Customer_is_null(Station_done(self))) {
            for (uint i = 1; i < n; i++) Station_queue(self, i - 1) = Station_queue(self, i);
            Station_queue_resize(self, --n);
        }
        uint is_new = random_of(id, 0) % 20 == 0; /* a customer from outside */
        Station_waited(self) = n;
        if (Station_queue_reserve(self, n + Station_coming(self) + is_new) != CLUMP_DONE) continue;
        Station_coming(self) = 0;
        if (!is_new) continue;
        Customer customer = Customer_new();
        if (Customer_is_null(customer)) continue;
        Customer_id(customer) = id;
        Customer_visits(customer) = 0;
        Customer_work(customer) = 1 + id % 4;
        Customer_way(customer) = 0;
        Station_queue_append(self, customer);
    }
}

/* Many stations append to the same queue, and count the ways in the same map. */
__kernel void move(CLUMP_HEAP, __global const Network *root) {
    CLUMP_FOR_EACH(Station, self) {
        Customer customer = Station_done(self);
        Station_done(self) = Customer_null;
        if (Customer_is_null(customer)) continue;
        uint way = Customer_way(customer);
        if (way == 0)
            continue; /* nothing refers to this customer any more: the collection frees it */
        uint to = (Station_number(self) * 7 + way * 77) % STATIONS;
        Station_queue_append(Network_stations(root[0], to), customer);
        Way found;
        CLUMP_MAP_INSERT(Ways, Network_ways(root[0]), Station_number(self) * WAYS + way, 0, &found);
        if (!Way_is_null(found)) CLUMP_ATOMIC_ADD(Way_value(found), 1u);
    }
}

/* Appends come in any order. Sorted by number, each run has the same queues. */
__kernel void sort_arrivals(CLUMP_HEAP_NO_ALLOC) {
    CLUMP_FOR_EACH(Station, self) {
        uint from = Station_waited(self), n = Station_queue_length(self);
        for (uint i = from + 1; i < n; i++) {
            Customer customer = Station_queue(self, i);
            uint k = i;
            for (; k > from && Customer_id(Station_queue(self, k - 1)) > Customer_id(customer); k--)
                Station_queue(self, k) = Station_queue(self, k - 1);
            Station_queue(self, k) = customer;
        }
    }
}

/* Ways that are rarely used are forgotten: erased here, and freed by tidy. */
__kernel void forget(CLUMP_HEAP_NO_ALLOC, __global const Network *root) {
    CLUMP_FOR_EACH(Way, self) {
        if (Way_value(self) < LEAST) CLUMP_MAP_ERASE(Ways, Network_ways(root[0]), Way_key(self));
    }
}

__kernel void tidy(CLUMP_HEAP, __global const Network *root) {
    CLUMP_MAP_TIDY(Ways, Network_ways(root[0]), STATIONS);
}

/* A copy of all queues and ways for the host. */
__kernel void show(CLUMP_HEAP_NO_ALLOC, __global const Network *root, __global uint4 *queues,
                   __global uint *ways) {
    CLUMP_FOR_EACH(Station, self) {
        uint number = Station_number(self), n = Station_queue_length(self);
        for (uint i = 0; i < SHOWN; i++) {
            Customer customer = i < n ? Station_queue(self, i) : Customer_null;
            queues[number * SHOWN + i] =
                i < n ? (uint4)(Customer_id(customer), Customer_visits(customer),
                                Customer_work(customer), n)
                      : 0;
        }
        for (uint way = 0; way < WAYS; way++) {
            Way found = CLUMP_MAP_FIND(Ways, Network_ways(root[0]), number * WAYS + way);
            ways[number * WAYS + way] = Way_is_null(found) ? 0 : Way_value(found);
        }
    }
}
