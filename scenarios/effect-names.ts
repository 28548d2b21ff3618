/**
 * The effects that fault models speak of, by their names there, and what a scenario says for each:
 * the key or event that gives it, or why none does and what comes nearest (CR-86, CR-108).
 */
export interface EffectName {
  readonly name: string;
  /** What gives the effect, or, where it is not built, what comes nearest. */
  readonly use: string;
  /** Why it is not built, or null where it is. */
  readonly why: string | null;
}

export const EFFECT_NAMES: readonly EffectName[] = [
  given('network.availability', 'cut, partition, isolate, with in_flight'),
  given('network.flap', 'cut with every and for'),
  absent('network.negotiated_mode', 'links do not negotiate', 'degrade with bandwidth'),
  given('network.profile_delta', 'degrade'),
  given('network.propagation_delay', 'degrade with extra_latency; latency of a link'),
  absent('network.access_delay', 'links are not arbitrated', 'degrade with extra_latency'),
  given('network.jitter', 'jitter of a link'),
  given('network.service_curve', 'degrade with bandwidth, an event for each piece'),
  absent(
    'network.token_bucket',
    'the bandwidth of a link saves nothing up',
    'degrade with bandwidth',
  ),
  given('network.queue_policy', 'degrade with queue and red: first in, first out, without classes'),
  given('network.frame_loss', 'degrade with loss'),
  given('network.burst_error_state', 'degrade with burst'),
  given('network.duplicate', 'degrade with duplicate'),
  given('network.reorder', 'degrade with reorder'),
  given('network.payload_transform', 'degrade with corrupt_undetected: one bit'),
  given('network.detected_frame_error', 'degrade with corrupt: the frame is dropped'),
  given('network.mtu', 'degrade with mtu and oversize'),
  given('network.pause_backpressure', 'stick'),
  absent('network.recipient_subset', 'nothing is sent to several nodes at once', 'cut'),
  absent('network.forwarder_lifecycle', 'links join nodes without forwarders', 'isolate'),
  absent('network.forwarding_mutation', 'links join nodes without forwarders', 'cut'),
  absent(
    'network.route_transition',
    'there is one path between two nodes',
    'degrade with extra_latency',
  ),
  absent(
    'network.control_plane_service',
    'there is no control plane',
    'degrade with extra_latency',
  ),
  absent('network.firewall_disposition', 'there are no firewalls', 'cut'),
  absent('network.connection_state', 'there is no translation of addresses', 'cut'),
  absent('network.shared_medium', 'each link is a medium of its own', 'degrade with bandwidth'),
  absent('network.rf_channel', 'there is no radio', 'degrade'),
  absent('network.association', 'nodes are attached for good', 'isolate'),
  absent('network.control_result_transform', 'there is no control plane', 'degrade'),
  absent('network.contact', 'there is no plan of contacts', 'cut with for'),
  absent('network.custody_queue', 'nothing on the way takes custody', 'stick'),
  given('storage.availability', 'disk with read_error, write_error, sync_error of 100%'),
  given('storage.reported_capacity', 'disk with capacity or quota'),
  given('storage.latency', 'disk with read_latency, write_latency, sync_latency, jitter'),
  given('storage.service', 'disk with bytes_per_second'),
  given('storage.operation_failure', 'disk with read_error, write_error, sync_error'),
  given('storage.stall_timeout', 'disk with stall and stall_for'),
  absent(
    'storage.completion_reorder',
    'guests make one operation at a time',
    'crash on a disk with crash = "reordered"',
  ),
  absent('storage.duplicate_completion', 'guests make one operation at a time', 'disk with stall'),
  given('storage.read_transform', 'disk with bit_rot, misdirected_read'),
  given('storage.write_disposition', 'disk with lost_write, torn_write, misdirected_write'),
  given('storage.persistence_order', 'crash on a disk with crash = "ordered" or "reordered"'),
  given('storage.volatile_cache', 'disk with lying_flush'),
  given('storage.volatile_cache_loss', 'crash'),
  given('storage.flush_disposition', 'disk with sync_error, lying_flush, stall'),
  given('storage.media_range', 'disk with latent_error, path and bytes'),
  absent('storage.flash_state', 'media do not wear', 'disk with bit_rot'),
  absent(
    'storage.controller_lifecycle',
    'disks have no controllers',
    'disk with read_error, write_error, sync_error and for',
  ),
  absent('storage.array_state', 'a node has one disk', 'disk_atlas'),
  absent('ninep.result', 'no guest has 9p', 'disk with read_error'),
  absent('ninep.visibility', 'no guest has 9p', 'disk with lying_flush'),
  given('node.lifecycle', 'crash, kill, wipe, restart, upgrade'),
  given('node.hang', 'pause'),
  given('cpu.service', 'slow'),
  given('cpu.vcpu_state', 'stall, of a machine; pause for all its processors'),
  given('cpu.register_transform', 'flip with target = "register": bits of a general register'),
  absent(
    'cpu.instruction_transform',
    'what an instruction does is not changed',
    'flip with target = "register"',
  ),
  given('cpu.exception', 'machine-check'),
  absent('interrupt.disposition', 'no interrupt is held back or lost', 'interrupt'),
  given('interrupt.storm', 'storm'),
  given('memory.mutation', 'flip with target = "memory"'),
  absent(
    'memory.access_transform',
    'what is read is what memory holds',
    'flip with target = "memory"',
  ),
  given('memory.ecc_event', 'machine-check, with corrected and address'),
  absent('memory.region_state', 'memory does not wear', 'flip with target = "memory" and every'),
  absent('memory.service', 'memory takes no time of its own', 'slow'),
  given('clock.transform', 'clock'),
  given('clock.source_state', 'clock of a machine, whose kernel has other sources to fall back on'),
  absent('accelerator.lifecycle', 'no guest has an accelerator', 'kill'),
  absent(
    'accelerator.result_transform',
    'no guest has an accelerator',
    'degrade with corrupt_undetected',
  ),
  absent('accelerator.memory_event', 'no guest has an accelerator', 'kill'),
  absent('accelerator.service', 'no guest has an accelerator', 'slow'),
];

/** What no simulated world has, by the first part of an effect's name. */
const FOREIGN: ReadonlyMap<string, string> = new Map([
  ['sensor', 'guests have no sensors'],
  ['battery', 'guests have no battery'],
  ['power', 'the only fault of power is its loss'],
  ['cooling', 'guests do not get warm'],
  ['host', 'nothing outside the simulation is touched'],
  ['kvm', 'nothing outside the simulation is touched'],
  ['gpu', 'nothing outside the simulation is touched'],
  ['tc', 'links are modelled, and those of the host are not touched'],
  ['netem', 'links are modelled, and those of the host are not touched'],
]);

/** Why an event cannot say `do = word`, and what to do instead; null if the word is no effect. */
export function refuseEffect(
  word: string,
): { readonly message: string; readonly remedy: string } | null {
  const effect = EFFECT_NAMES.find(({ name }) => name === word);
  if (effect !== undefined) {
    const { use, why } = effect;
    if (why === null) return { message: `"${word}" has another name here`, remedy: `use ${use}` };
    return { message: `"${word}" is not built: ${why}`, remedy: `nearest: ${use}` };
  }
  const why = FOREIGN.get(word.split('.')[0] ?? '');
  if (why === undefined) return null;
  const remedy = 'use an event of nodes, links, disks or clocks: see docs/faults.md';
  return { message: `"${word}" is not to be had: ${why}`, remedy };
}

/** The table of all effects, as the documentation has it. */
export function effectTable(): string {
  const rows = EFFECT_NAMES.map(({ name, use, why }) => {
    return `| \`${name}\` | ${why === null ? use : ''} | ${why === null ? '' : `${why}; nearest: ${use}`} |`;
  });
  return ['| effect | given by | not built |', '| --- | --- | --- |', ...rows].join('\n');
}

function given(name: string, use: string): EffectName {
  return { name, use, why: null };
}

function absent(name: string, why: string, use: string): EffectName {
  return { name, use, why };
}
