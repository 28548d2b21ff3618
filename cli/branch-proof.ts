import {
  encodeCheckpoint,
  PagePool,
  RollingDigest,
  type FatCheckpoint,
  type SavepointProof,
} from '../sim/index.ts';
import type { Simulation } from './simulation.ts';
import { sha256Hex } from './zip.ts';

/** The proof of where a simulation stands now, at `checkpoint`; `selector` is what was asked for. */
export function proofOf(
  simulation: Simulation,
  checkpoint: FatCheckpoint,
  selector: string,
): SavepointProof {
  const { decisions, events } = checkpoint.world;
  return {
    selector,
    label: '',
    frontierNs: simulation.nowNs,
    quanta: simulation.quanta,
    decisionCount: simulation.decisionCount,
    eventCount: simulation.eventCount,
    decisionChain: chainOf(decisions.log.digest),
    eventChain: chainOf(events.log.digest),
    checkpoint: sha256Hex(encodeCheckpoint(checkpoint, new PagePool())),
  };
}

function chainOf(state: readonly number[]): string {
  const digest = new RollingDigest();
  digest.restore(state);
  return digest.hex();
}
