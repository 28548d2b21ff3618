/** Why a packet is dropped: the result of a `net/drop` event. Numbers are never given anew. */
export const DROP = {
  /** The link lost it, by decision. */
  LOSS: 1,
  /** The link is cut. */
  CUT: 2,
  /** The link was cut while the packet was under way. */
  CUT_IN_FLIGHT: 3,
  /** The node that it reached is off. */
  NODE_DOWN: 4,
  /** No link leads there. */
  NO_ROUTE: 5,
  /** The link carries as many packets as it may. */
  LINK_FULL: 6,
  /** It would arrive after the end of time. */
  TOO_LATE: 7,
  /** The listener has as many connections waiting as it may, or its node as many sockets. */
  BACKLOG: 8,
  /** The receiving socket or node has no room. */
  BUFFER: 9,
  /** Nobody has that port. */
  NO_SOCKET: 10,
  /** The link lost it within a burst. */
  BURST: 11,
  /** So many bytes wait for the link's bandwidth as may. */
  QUEUE_FULL: 12,
  /** The link's queue dropped it early. */
  RED: 13,
  /** It is larger than the link's MTU. */
  TOO_BIG: 14,
  /** Its checksum did not fit when it arrived. */
  CHECKSUM: 15,
  /** A machine's frame, or a header in it, says another length than it has. */
  FRAME_LENGTH: 32,
  /** A machine's frame carries what nobody here speaks. */
  FRAME_PROTOCOL: 33,
  /** A header in a machine's frame contradicts itself. */
  FRAME_HEADER: 34,
  /** A machine's frame comes from, or goes to, an address that is not its own, or nobody's. */
  FRAME_ADDRESS: 35,
  /** A machine's frame is for a group of stations: the world carries none. */
  FRAME_GROUP: 36,
  /** Fragments of a packet contradict each other, or are too many. */
  FRAME_FRAGMENT: 37,
} as const;
