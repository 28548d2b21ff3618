/*
 * virtio-blk-sim behind PCI, for machines that have it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "hw/qdev-properties.h"
#include "hw/virtio/virtio-pci.h"
#include "block.h"

/* One for the queue, one for changes of the configuration. */
#define VECTORS 2

typedef struct SimBlockPci {
    VirtIOPCIProxy parent;
    SimBlock block;
} SimBlockPci;

static void realize(VirtIOPCIProxy *proxy, Error **errp)
{
    if (proxy->nvectors == DEV_NVECTORS_UNSPECIFIED) {
        proxy->nvectors = VECTORS;
    }
    qdev_realize(DEVICE(&container_of(proxy, SimBlockPci, parent)->block), BUS(&proxy->bus), errp);
}

static const Property properties[] = {
    DEFINE_PROP_UINT32("vectors", VirtIOPCIProxy, nvectors, DEV_NVECTORS_UNSPECIFIED),
};

static void class_init(ObjectClass *class, void *data)
{
    PCIDeviceClass *pci = PCI_DEVICE_CLASS(class);

    VIRTIO_PCI_CLASS(class)->realize = realize;
    device_class_set_props(DEVICE_CLASS(class), properties);
    pci->vendor_id = PCI_VENDOR_ID_REDHAT_QUMRANET;
    pci->device_id = PCI_DEVICE_ID_VIRTIO_BLOCK;
    pci->revision = VIRTIO_PCI_ABI_VERSION;
    pci->class_id = PCI_CLASS_STORAGE_SCSI;
}

static void instance_init(Object *object)
{
    SimBlockPci *self = (SimBlockPci *)object;

    virtio_instance_init_common(object, &self->block, sizeof(self->block), TYPE_SIM_BLOCK);
}

static const VirtioPCIDeviceTypeInfo pci_info = {
    .generic_name = "virtio-blk-sim-pci",
    .base_name = "virtio-blk-sim-pci-base",
    .instance_size = sizeof(SimBlockPci),
    .instance_init = instance_init,
    .class_init = class_init,
};

void sim_block_pci_register(void)
{
    virtio_pci_types_register(&pci_info);
}
