/* SPDX-License-Identifier: MIT
 *
 * opencl.c - kernels on a device's own timeline. Each frame submits a blur and a sum to an OpenCL
 * queue; the driver's time stamps make spans of a track, children of the frame that asked.
 *
 *     cairn run ./opencl && cairn spans --by parent opencl.cairn && cairn view opencl.cairn
 *
 * Without a GPU, pocl runs the kernels on the processor: apt-get install pocl-opencl-icd.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cairn/track.h>

enum { FRAMES = 20, PIXELS = 1 << 18, SYNC_EACH = 5 };

static const char *source =
    "kernel void blur(global const float *in, global float *out, int radius)\n"
    "{\n"
    "    int at = get_global_id(0), size = get_global_size(0);\n"
    "    float sum = 0;\n"
    "    for (int i = at - radius; i <= at + radius; i++)\n"
    "        sum += in[(i + size) % size];\n"
    "    out[at] = sum / (2 * radius + 1);\n"
    "}\n"
    "kernel void darken(global const float *in, global float *out, int unused)\n"
    "{\n"
    "    out[get_global_id(0)] = in[get_global_id(0)] * 0.5f;\n"
    "}\n";

static void check(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "opencl: %s: error %d\n", what, (int)status);
    exit(1);
}

/* A kernel that was submitted, and by whom. */
typedef struct work {
    cairn_handoff asked;
    cl_event event;
} work;

typedef struct device {
    cl_context context;
    cl_command_queue queue;
    cl_kernel blur, darken;
    cl_mem image, result;
    cairn_track *track;
} device;

static cl_ulong stamp_of(cl_event event, cl_profiling_info which)
{
    cl_ulong stamp = 0;
    check(clGetEventProfilingInfo(event, which, sizeof stamp, &stamp, NULL), "time stamp");
    return stamp;
}

static device device_open(void)
{
    cl_platform_id platform;
    cl_device_id id;
    cl_uint count = 0;
    cl_int status = CL_SUCCESS;
    device it;
    if (clGetPlatformIDs(1, &platform, &count) != CL_SUCCESS || !count) {
        fprintf(stderr, "opencl: no OpenCL device; apt-get install pocl-opencl-icd\n");
        exit(2);
    }
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &id, NULL), "device");
    it.context = clCreateContext(NULL, 1, &id, NULL, NULL, &status);
    check(status, "context");
    it.queue = clCreateCommandQueue(it.context, id, CL_QUEUE_PROFILING_ENABLE, &status);
    check(status, "queue");
    cl_program program = clCreateProgramWithSource(it.context, 1, &source, NULL, &status);
    check(status, "program");
    check(clBuildProgram(program, 1, &id, "", NULL, NULL), "compiling the kernels");
    it.blur = clCreateKernel(program, "blur", &status);
    it.darken = clCreateKernel(program, "darken", &status);
    it.image = clCreateBuffer(it.context, CL_MEM_READ_WRITE, PIXELS * sizeof(float), NULL, &status);
    it.result =
        clCreateBuffer(it.context, CL_MEM_READ_WRITE, PIXELS * sizeof(float), NULL, &status);
    check(status, "memory");
    const float black = 0;
    check(clEnqueueFillBuffer(it.queue, it.image, &black, sizeof black, 0, PIXELS * sizeof black, 0,
                              NULL, NULL),
          "memory");
    clReleaseProgram(program);
    it.track = cairn_track_open("opencl queue", 1); /* OpenCL counts nanoseconds */
    return it;
}

static void device_close(device *it)
{
    cairn_track_close(it->track);
    clReleaseMemObject(it->image);
    clReleaseMemObject(it->result);
    clReleaseKernel(it->blur);
    clReleaseKernel(it->darken);
    clReleaseCommandQueue(it->queue);
    clReleaseContext(it->context);
}

/* OpenCL 1.2 cannot read the device's clock. An empty command is stamped when it is queued, which
 * is between the two readings of the host's clock. */
static void relate_clocks(device *it)
{
    cl_event event;
    uint64_t before = cairn_track_clock();
    check(clEnqueueMarkerWithWaitList(it->queue, 0, NULL, &event), "marker");
    check(clFinish(it->queue), "marker");
    cairn_track_sync(it->track, stamp_of(event, CL_PROFILING_COMMAND_QUEUED), before);
    clReleaseEvent(event);
}

static work submit(device *it, cl_kernel kernel, cl_mem from, cl_mem to, int radius)
{
    const size_t size = PIXELS;
    work work = {.asked = cairn_handoff_take(cairn_thread_strand())};
    clSetKernelArg(kernel, 0, sizeof from, &from);
    clSetKernelArg(kernel, 1, sizeof to, &to);
    clSetKernelArg(kernel, 2, sizeof radius, &radius);
    check(clEnqueueNDRangeKernel(it->queue, kernel, 1, NULL, &size, NULL, 0, NULL, &work.event),
          "kernel");
    return work;
}

/* A frame waits for its last kernel. A larger radius takes the device longer. */
static void render(device *it, int64_t frame)
{
    CAIRN_SCOPE("frame", .iteration = frame);
    int radius = frame % 7 == 0 ? 24 : 4;
    CAIRN_SCOPE_INTEGER("radius", radius);
    work blurred = submit(it, it->blur, it->image, it->result, radius);
    work darkened = submit(it, it->darken, it->result, it->image, 0);
    {
        CAIRN_SCOPE("wait for the device");
        check(clFinish(it->queue), "finish");
        CAIRN_TRACK_SPAN(it->track, blurred.asked, "blur",
                         stamp_of(blurred.event, CL_PROFILING_COMMAND_START),
                         stamp_of(blurred.event, CL_PROFILING_COMMAND_END));
        cairn_span last = CAIRN_TRACK_SPAN(it->track, darkened.asked, "darken",
                                           stamp_of(darkened.event, CL_PROFILING_COMMAND_START),
                                           stamp_of(darkened.event, CL_PROFILING_COMMAND_END));
        cairn_span_waits_for(cairn_thread_strand(), last);
    }
    clReleaseEvent(blurred.event);
    clReleaseEvent(darkened.event);
}

int main(void)
{
    device it = device_open();
    for (int64_t frame = 0; frame < FRAMES; frame++) {
        if (frame % SYNC_EACH == 0)
            relate_clocks(&it);
        render(&it, frame);
    }
    printf("clocks related within %.1f us\n", cairn_track_error(it.track) / 1000);
    device_close(&it);
    return 0;
}
