/* SPDX-License-Identifier: GPL-3.0-or-later
 * A double of NVIDIA's management library, for machines that have no GPU: two GPUs that do nothing.
 *
 * It stands in for the hardware and the kernel module, and for nothing else: the programs that call it are the real ones.
 * What a kernel module would know, it reads where a kernel module would have it (/sys/module/nvidia). What can go wrong with
 * a GPU is written into /run/gpu-double by whoever tests it.
 *
 * VERSION, the library's own version, is given by the compiler's command line.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef int ret;
enum { SUCCESS = 0, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7, NO_DRIVER = 9, LOST = 15, MISMATCH = 18 };
enum { GPUS = 2 };

#define FAULTS "/run/gpu-double/"

static struct gpu { unsigned index; } gpus[GPUS] = {{0}, {1}};

static int number_in(const char *path)
{
    int number = -1;
    FILE *file = fopen(path, "r");
    if (file) {
        if (fscanf(file, "%d", &number) != 1)
            number = -1;
        fclose(file);
    }
    return number;
}

static ret text(char *to, unsigned size, const char *from)
{
    if (strlen(from) >= size)
        return TOO_SMALL;
    strcpy(to, from);
    return SUCCESS;
}

/* A container on the host sees neither the double's modules nor its bus, and a device node is as good a sign there. */
static ret module_state(void)
{
    char loaded[64] = "";
    FILE *file = fopen("/sys/module/nvidia/version", "r");
    if (!file) {
        int on_host = access("/sys/bus/pci/devices/0000:17:00.0", F_OK) == 0;
        return on_host || access("/dev/nvidiactl", F_OK) != 0 ? NO_DRIVER : SUCCESS;
    }
    if (fscanf(file, "%63s", loaded) != 1)
        loaded[0] = '\0';
    fclose(file);
    return strcmp(loaded, VERSION) == 0 ? SUCCESS : MISMATCH;
}

static struct gpu *known(void *device)
{
    return device == &gpus[0] || device == &gpus[1] ? device : NULL;
}

ret nvmlInit_v2(void) { return module_state(); }
ret nvmlInitWithFlags(unsigned flags) { (void)flags; return module_state(); }
ret nvmlShutdown(void) { return SUCCESS; }

const char *nvmlErrorString(ret code)
{
    switch (code) {
    case SUCCESS: return "Success";
    case NOT_SUPPORTED: return "Not Supported";
    case NO_DRIVER: return "Driver Not Loaded";
    case LOST: return "GPU is lost";
    case MISMATCH: return "Driver/library version mismatch";
    default: return "Unknown Error";
    }
}

ret nvmlSystemGetDriverVersion(char *to, unsigned size)
{
    char other[64] = VERSION;
    FILE *file = fopen(FAULTS "driver_version", "r");
    if (file) {
        if (fscanf(file, "%63s", other) != 1)
            other[0] = '\0';
        fclose(file);
    }
    return text(to, size, other);
}
ret nvmlSystemGetNVMLVersion(char *to, unsigned size) { return text(to, size, "12." VERSION); }
ret nvmlSystemGetCudaDriverVersion(int *version) { *version = 12020; return SUCCESS; }
ret nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = 12020; return SUCCESS; }

ret nvmlDeviceGetCount_v2(unsigned *count) { *count = GPUS; return SUCCESS; }
ret nvmlDeviceGetCount(unsigned *count) { *count = GPUS; return SUCCESS; }

ret nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    if (index >= GPUS)
        return INVALID;
    if (number_in(FAULTS "lost") == (int)index)
        return LOST;
    *device = &gpus[index];
    return SUCCESS;
}
ret nvmlDeviceGetHandleByIndex(unsigned index, void **device) { return nvmlDeviceGetHandleByIndex_v2(index, device); }

ret nvmlDeviceGetUUID(void *device, char *to, unsigned size)
{
    char uuid[48];
    struct gpu *gpu = known(device);
    if (!gpu)
        return INVALID;
    snprintf(uuid, sizeof uuid, "GPU-d0b1e000-0000-4000-8000-00000000000%u", gpu->index);
    return text(to, size, uuid);
}

ret nvmlDeviceGetHandleByUUID(const char *uuid, void **device)
{
    char own[48];
    for (unsigned index = 0; index < GPUS; index++)
        if (nvmlDeviceGetUUID(&gpus[index], own, sizeof own) == SUCCESS && strcmp(own, uuid) == 0)
            return nvmlDeviceGetHandleByIndex_v2(index, device);
    return NOT_FOUND;
}

ret nvmlDeviceGetName(void *device, char *to, unsigned size)
{
    return known(device) ? text(to, size, "NVIDIA H200 (double)") : INVALID;
}

ret nvmlDeviceGetIndex(void *device, unsigned *index)
{
    struct gpu *gpu = known(device);
    return gpu ? (*index = gpu->index, SUCCESS) : INVALID;
}
ret nvmlDeviceGetMinorNumber(void *device, unsigned *minor) { return nvmlDeviceGetIndex(device, minor); }

struct pci {
    char legacy_id[16];
    unsigned domain, bus, device, id, subsystem;
    char id_text[32];
};

ret nvmlDeviceGetPciInfo_v3(void *device, struct pci *pci)
{
    struct gpu *gpu = known(device);
    if (!gpu)
        return INVALID;
    memset(pci, 0, sizeof *pci);
    pci->bus = 0x17 + gpu->index;
    pci->id = 0x233510de;
    pci->subsystem = 0x18be10de;
    snprintf(pci->legacy_id, sizeof pci->legacy_id, "0000:%02X:00.0", pci->bus);
    snprintf(pci->id_text, sizeof pci->id_text, "00000000:%02X:00.0", pci->bus);
    return SUCCESS;
}
/* What newer programs ask instead. */
struct pci_ext {
    unsigned version, domain, bus, device, id, subsystem, base_class, sub_class;
    char id_text[32];
};

ret nvmlDeviceGetPciInfoExt(void *device, struct pci_ext *ext)
{
    struct pci pci;
    ret code = nvmlDeviceGetPciInfo_v3(device, &pci);
    if (code != SUCCESS)
        return code;
    ext->domain = pci.domain;
    ext->bus = pci.bus;
    ext->device = pci.device;
    ext->id = pci.id;
    ext->subsystem = pci.subsystem;
    ext->base_class = 3;
    ext->sub_class = 2;
    strcpy(ext->id_text, pci.id_text);
    return SUCCESS;
}

ret nvmlDeviceGetPciInfo_v2(void *device, struct pci *pci) { return nvmlDeviceGetPciInfo_v3(device, pci); }

ret nvmlDeviceGetMigMode(void *device, unsigned *now, unsigned *next)
{
    return known(device) ? (*now = *next = 0, NOT_SUPPORTED) : INVALID;
}
ret nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *count) { return known(device) ? (*count = 0, SUCCESS) : INVALID; }
ret nvmlDeviceIsMigDeviceHandle(void *device, unsigned *is) { return known(device) ? (*is = 0, SUCCESS) : INVALID; }
ret nvmlDeviceGetArchitecture(void *device, unsigned *is) { return known(device) ? (*is = 9, SUCCESS) : INVALID; }
ret nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor)
{
    return known(device) ? (*major = 9, *minor = 0, SUCCESS) : INVALID;
}
ret nvmlDeviceGetMemoryInfo(void *device, unsigned long long *memory)
{
    return known(device) ? (memory[0] = memory[1] = 141ull << 30, memory[2] = 0, SUCCESS) : INVALID;
}

/* nvidia-smi asks for private tables of functions and gives up without them; functions that do nothing are enough. */
static ret nothing(void) { return NOT_SUPPORTED; }
static void *table[256];

ret nvmlInternalGetExportTable(const void **to, const void *id)
{
    (void)id;
    for (unsigned slot = 1; slot < sizeof table / sizeof *table; slot++)
        table[slot] = (void *)nothing;
    table[0] = (void *)sizeof table;
    *to = table;
    return SUCCESS;
}
