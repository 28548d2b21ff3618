import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  decodeScenario,
  encodeScenario,
  guestsOf,
  imagesOfGuest,
  scenarioIds,
  SimError,
} from '../sim/index.ts';
import type { ScenarioDef } from '../sim/index.ts';
import { writeAtomically } from './atomic-write.ts';
import { sha256Hex } from './zip.ts';

const ADDRESS = /^[0-9a-f]{64}$/;

/** A scenario with all that it takes to run it. */
export interface StoredScenario {
  readonly def: ScenarioDef;
  readonly images: ReadonlyMap<string, Uint8Array>;
}

/**
 * The store of artefacts: objects under their SHA-256, and scenarios under their id, which point
 * to objects (CR-105). Whatever is not as its address says is an error, never repaired.
 */
export class Store {
  private readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Whether a text has the form of an address. */
  static isAddress(text: string): boolean {
    return ADDRESS.test(text);
  }

  /** Keeps an object; returns its address. */
  put(bytes: Uint8Array): string {
    const address = sha256Hex(bytes);
    const path = this.objectPath(address);
    if (!existsSync(path)) writeAtomically(path, bytes);
    return address;
  }

  /** The object at an address. Throws `store/address`, `store/missing` or `store/damaged`. */
  get(address: string): Uint8Array {
    if (!ADDRESS.test(address)) {
      throw new SimError({
        code: 'store/address',
        message: `"${address.slice(0, 80)}" is no address: 64 hexadecimal digits are`,
      });
    }
    const bytes = this.read(this.objectPath(address), address);
    const found = sha256Hex(bytes);
    if (found !== address) {
      throw new SimError({
        code: 'store/damaged',
        message: `an object of the store is damaged: expected ${address}, found ${found}`,
        place: `object ${address}`,
        remedy: 'delete the object and run again what made it',
      });
    }
    return bytes;
  }

  /** Keeps a scenario with its images; returns the scenario's id. */
  putScenario(def: ScenarioDef, images: ReadonlyMap<string, Uint8Array>): string {
    const { scenario: id } = scenarioIds(def);
    for (const bytes of images.values()) this.put(bytes);
    const object = this.put(encodeScenario(def));
    const path = this.scenarioPath(id);
    if (!existsSync(path)) writeAtomically(path, Buffer.from(`${object}\n`, 'latin1'));
    return id;
  }

  /** The scenario of that id, or null if the store does not have it. */
  getScenario(id: string): StoredScenario | null {
    if (!ADDRESS.test(id) || !existsSync(this.scenarioPath(id))) return null;
    const object = Buffer.from(this.read(this.scenarioPath(id), id))
      .toString('latin1')
      .trim();
    const def = decodeScenario(this.get(object));
    const { scenario: found } = scenarioIds(def);
    if (found !== id) {
      throw new SimError({
        code: 'store/damaged',
        message: `the store names another scenario: expected ${id}, found ${found}`,
        place: `scenario ${id}`,
        remedy: 'delete the entry and run again what made it',
      });
    }
    const digests = new Set(guestsOf(def).flatMap(imagesOfGuest));
    return { def, images: new Map([...digests].map((digest) => [digest, this.get(digest)])) };
  }

  private objectPath(address: string): string {
    return join(this.folder, 'sha256', address.slice(0, 2), address.slice(2));
  }

  private scenarioPath(id: string): string {
    return join(this.folder, 'scenarios', id);
  }

  private read(path: string, address: string): Uint8Array {
    try {
      return readFileSync(path);
    } catch (error) {
      throw new SimError({
        code: 'store/missing',
        message: `the store lacks the object ${address}`,
        place: `object ${address}`,
        remedy: 'run again what made it, or name the store with --store',
        cause: error,
      });
    }
  }
}
