/** Keys of an event of which a share below one draws a decision at each occurrence. */
export const LINK_CHANCES = ['loss', 'duplicate', 'reorder', 'corrupt', 'corrupt_undetected'];
export const DISK_CHANCES = [
  'read_error',
  'write_error',
  'sync_error',
  'lying_flush',
  'lost_write',
  'torn_write',
  'misdirected_write',
  'misdirected_read',
  'bit_rot',
  'latent_error',
  'stall',
];
