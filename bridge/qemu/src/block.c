/*
 * virtio-blk-sim: a virtio block device without contents. Each request goes to the controller,
 * which holds the disk and decides when and how the request ends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Requests that wait are part of the device's saved state.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/iov.h"
#include "hw/qdev-properties.h"
#include "hw/virtio/virtio.h"
#include "hw/virtio/virtio-access.h"
#include "migration/qemu-file-types.h"
#include "migration/vmstate.h"
#include "standard-headers/linux/virtio_blk.h"
#include "standard-headers/linux/virtio_ids.h"
#include "block.h"

#define QUEUE_SIZE 128
#define SECTOR_BYTES 512
/* Two descriptors of the queue are the header and the status. */
#define SEGMENTS_MAX (QUEUE_SIZE - 2)
/* Far above what Linux sends, far below the channel's limit. */
#define REQUEST_BYTES_MAX (8u << 20)
#define REQUEST_DISK_SHIFT 40
#define SERIAL_BYTES 20

static SimBlock *disks[SIM_DISKS_MAX];

static SimBlockPending *find(uint64_t id)
{
    uint64_t disk = id >> REQUEST_DISK_SHIFT;
    SimBlockPending *request;

    if (disk >= SIM_DISKS_MAX || !disks[disk]) {
        return NULL;
    }
    QTAILQ_FOREACH(request, &disks[disk]->pending, next) {
        if (request->id == id) {
            return request;
        }
    }
    return NULL;
}

static void end_request(SimBlock *self, VirtQueueElement *element, uint32_t written, uint8_t status)
{
    size_t room = iov_size(element->in_sg, element->in_num);

    iov_from_buf(element->in_sg, element->in_num, room - 1, &status, 1);
    virtqueue_push(self->queue, element, written + 1);
    virtio_notify(VIRTIO_DEVICE(self), self->queue);
    g_free(element);
}

bool sim_block_is_pending(uint64_t id)
{
    SimBlockPending *request = find(id);

    return request && !request->decided;
}

void sim_block_decided(uint64_t id)
{
    find(id)->decided = true;
}

bool sim_block_deliver(uint64_t id, const uint8_t *data, uint32_t length)
{
    SimBlockPending *request = find(id);
    SimBlock *self;
    uint32_t status, written = 0;

    if (!request) {
        return false;
    }
    self = disks[id >> REQUEST_DISK_SHIFT];
    memcpy(&status, data, sizeof(status));
    if (request->operation == SIM_BLOCK_READ && le32_to_cpu(status) == VIRTIO_BLK_S_OK) {
        written = MIN(length - sizeof(status), request->bytes);
        iov_from_buf(request->element->in_sg, request->element->in_num, 0,
                     data + sizeof(status), written);
    }
    end_request(self, request->element, written, le32_to_cpu(status));
    QTAILQ_REMOVE(&self->pending, request, next);
    g_free(request);
    return true;
}

static void report(SimBlock *self, SimBlockPending *request, uint64_t sector)
{
    bool is_write = request->operation == SIM_BLOCK_WRITE;
    SimBlockRequest fields = {
        .disk = cpu_to_le32(self->index), .operation = cpu_to_le32(request->operation),
        .sector = cpu_to_le64(sector), .bytes = cpu_to_le32(request->bytes),
    };
    size_t length = sizeof(fields) + (is_write ? request->bytes : 0);
    g_autofree uint8_t *payload = g_malloc(length);

    memcpy(payload, &fields, sizeof(fields));
    if (is_write) {
        iov_to_buf(request->element->out_sg, request->element->out_num,
                   sizeof(struct virtio_blk_outhdr), payload + sizeof(fields), request->bytes);
    }
    sim_emit(SIM_BLOCK_REQUEST, sim_now(), request->id, payload, length);
}

static void get_serial(SimBlock *self, VirtQueueElement *element)
{
    char serial[SERIAL_BYTES] = { 0 };
    size_t room = iov_size(element->in_sg, element->in_num) - 1;

    snprintf(serial, sizeof(serial), "sim-disk-%u", self->index);
    end_request(self, element,
                iov_from_buf(element->in_sg, element->in_num, 0, serial,
                             MIN(room, sizeof(serial))),
                VIRTIO_BLK_S_OK);
}

static bool is_in_range(SimBlock *self, uint64_t sector, uint64_t bytes)
{
    uint64_t count = bytes / SECTOR_BYTES;

    return bytes % SECTOR_BYTES == 0 && bytes <= REQUEST_BYTES_MAX &&
           sector <= self->sectors && count <= self->sectors - sector;
}

static void take_request(SimBlock *self, VirtQueueElement *element)
{
    VirtIODevice *device = VIRTIO_DEVICE(self);
    struct virtio_blk_outhdr header;
    size_t out = iov_size(element->out_sg, element->out_num);
    size_t in = iov_size(element->in_sg, element->in_num);
    SimBlockPending *request;
    uint32_t operation;
    uint64_t sector, bytes = 0;

    if (out < sizeof(header) || in < 1) {
        virtio_error(device, "virtio-blk-sim: a request without header or status");
        virtqueue_detach_element(self->queue, element, 0);
        g_free(element);
        return;
    }
    iov_to_buf(element->out_sg, element->out_num, 0, &header, sizeof(header));
    sector = virtio_ldq_p(device, &header.sector);
    switch (virtio_ldl_p(device, &header.type)) {
    case VIRTIO_BLK_T_IN:
        operation = SIM_BLOCK_READ;
        bytes = in - 1;
        break;
    case VIRTIO_BLK_T_OUT:
        operation = SIM_BLOCK_WRITE;
        bytes = out - sizeof(header);
        break;
    case VIRTIO_BLK_T_FLUSH:
        operation = SIM_BLOCK_FLUSH;
        sector = 0;
        break;
    case VIRTIO_BLK_T_GET_ID:
        get_serial(self, element);
        return;
    default:
        end_request(self, element, 0, VIRTIO_BLK_S_UNSUPP);
        return;
    }
    if (!is_in_range(self, sector, bytes)) {
        end_request(self, element, 0, VIRTIO_BLK_S_IOERR);
        return;
    }
    request = g_new0(SimBlockPending, 1);
    request->element = element;
    request->id = ((uint64_t)self->index << REQUEST_DISK_SHIFT) | self->next_id++;
    request->operation = operation;
    request->bytes = bytes;
    QTAILQ_INSERT_TAIL(&self->pending, request, next);
    report(self, request, sector);
}

static void handle_output(VirtIODevice *device, VirtQueue *queue)
{
    VirtQueueElement *element;

    while ((element = virtqueue_pop(queue, sizeof(*element)))) {
        take_request(SIM_BLOCK(device), element);
    }
}

static void get_config(VirtIODevice *device, uint8_t *config)
{
    struct virtio_blk_config fields = { 0 };

    virtio_stq_p(device, &fields.capacity, SIM_BLOCK(device)->sectors);
    virtio_stl_p(device, &fields.blk_size, SECTOR_BYTES);
    virtio_stl_p(device, &fields.seg_max, SEGMENTS_MAX);
    fields.wce = 1;
    memcpy(config, &fields, sizeof(fields));
}

static uint64_t get_features(VirtIODevice *device, uint64_t features, Error **errp)
{
    virtio_add_feature(&features, VIRTIO_BLK_F_FLUSH);
    virtio_add_feature(&features, VIRTIO_BLK_F_BLK_SIZE);
    virtio_add_feature(&features, VIRTIO_BLK_F_SEG_MAX);
    if (SIM_BLOCK(device)->read_only) {
        virtio_add_feature(&features, VIRTIO_BLK_F_RO);
    }
    return features;
}

static void reset(VirtIODevice *device)
{
    SimBlock *self = SIM_BLOCK(device);
    SimBlockPending *request;

    while ((request = QTAILQ_FIRST(&self->pending))) {
        QTAILQ_REMOVE(&self->pending, request, next);
        virtqueue_detach_element(self->queue, request->element, 0);
        g_free(request->element);
        g_free(request);
    }
}

static void realize(DeviceState *state, Error **errp)
{
    SimBlock *self = SIM_BLOCK(state);

    if (self->index >= SIM_DISKS_MAX || disks[self->index]) {
        error_setg(errp, "virtio-blk-sim: index %u is taken or above %d", self->index,
                   SIM_DISKS_MAX - 1);
        return;
    }
    QTAILQ_INIT(&self->pending);
    virtio_init(VIRTIO_DEVICE(state), VIRTIO_ID_BLOCK, sizeof(struct virtio_blk_config));
    self->queue = virtio_add_queue(VIRTIO_DEVICE(state), QUEUE_SIZE, handle_output);
    disks[self->index] = self;
}

/* ---- saved state: a count, then each waiting request in order ---- */

static void save_requests(VirtIODevice *device, QEMUFile *file)
{
    SimBlock *self = SIM_BLOCK(device);
    SimBlockPending *request;
    uint32_t count = 0;

    QTAILQ_FOREACH(request, &self->pending, next) {
        count++;
    }
    qemu_put_be64(file, self->next_id);
    qemu_put_be32(file, count);
    QTAILQ_FOREACH(request, &self->pending, next) {
        qemu_put_be64(file, request->id);
        qemu_put_be32(file, request->operation);
        qemu_put_be32(file, request->bytes);
        qemu_put_byte(file, request->decided);
        qemu_put_virtqueue_element(device, file, request->element);
    }
}

static int load_requests(VirtIODevice *device, QEMUFile *file, int version)
{
    SimBlock *self = SIM_BLOCK(device);
    uint32_t count;

    self->next_id = qemu_get_be64(file);
    count = qemu_get_be32(file);
    if (count > QUEUE_SIZE) {
        return -EINVAL;
    }
    while (count-- > 0) {
        SimBlockPending *request = g_new0(SimBlockPending, 1);

        request->id = qemu_get_be64(file);
        request->operation = qemu_get_be32(file);
        request->bytes = qemu_get_be32(file);
        request->decided = qemu_get_byte(file);
        request->element = qemu_get_virtqueue_element(device, file, sizeof(VirtQueueElement));
        QTAILQ_INSERT_TAIL(&self->pending, request, next);
    }
    return 0;
}

static const VMStateDescription vmstate_block = {
    .name = TYPE_SIM_BLOCK,
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) { VMSTATE_VIRTIO_DEVICE, VMSTATE_END_OF_LIST() },
};

static const Property properties[] = {
    DEFINE_PROP_UINT32("index", SimBlock, index, 0),
    DEFINE_PROP_UINT64("sectors", SimBlock, sectors, 0),
    DEFINE_PROP_BOOL("read-only", SimBlock, read_only, false),
};

static void class_init(ObjectClass *class, void *data)
{
    VirtioDeviceClass *virtio = VIRTIO_DEVICE_CLASS(class);

    device_class_set_props(DEVICE_CLASS(class), properties);
    DEVICE_CLASS(class)->vmsd = &vmstate_block;
    set_bit(DEVICE_CATEGORY_STORAGE, DEVICE_CLASS(class)->categories);
    virtio->realize = realize;
    virtio->get_config = get_config;
    virtio->get_features = get_features;
    virtio->reset = reset;
    virtio->save = save_requests;
    virtio->load = load_requests;
}

static const TypeInfo block_info = {
    .name = TYPE_SIM_BLOCK,
    .parent = TYPE_VIRTIO_DEVICE,
    .instance_size = sizeof(SimBlock),
    .class_init = class_init,
};

void sim_block_register(void)
{
    type_register_static(&block_info);
    sim_block_pci_register();
}
