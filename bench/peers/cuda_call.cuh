/* Calls of CUDA that must not fail, and the time of a launch. */
#ifndef PEERS_CUDA_CALL_CUH
#define PEERS_CUDA_CALL_CUH

#include <cstdio>
#include <cstdlib>

namespace peers {

inline void cuda_call(cudaError_t code, const char *call) {
    if (code == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(code));
    std::exit(1);
}
#define CUDA_CALL(call) peers::cuda_call(call, #call)

/* Milliseconds on the device until what `enqueue` launched is done. */
template <typename F> float time_of(F enqueue) {
    cudaEvent_t begin, end;
    float ms = 0;
    CUDA_CALL(cudaEventCreate(&begin));
    CUDA_CALL(cudaEventCreate(&end));
    CUDA_CALL(cudaEventRecord(begin));
    enqueue();
    CUDA_CALL(cudaGetLastError());
    CUDA_CALL(cudaEventRecord(end));
    CUDA_CALL(cudaEventSynchronize(end));
    CUDA_CALL(cudaEventElapsedTime(&ms, begin, end));
    CUDA_CALL(cudaEventDestroy(begin));
    CUDA_CALL(cudaEventDestroy(end));
    return ms;
}

} // namespace peers

#endif
