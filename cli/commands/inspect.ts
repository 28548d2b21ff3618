import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readInput } from '../../scenarios/index.ts';
import {
  branchOf,
  decodeCanonical,
  decodeDecisions,
  decodeEvents,
  decodeManifest,
  decodeTexts,
  FRAME_MAGIC,
  LOG_DECISIONS,
  LOG_EVENTS,
  readLog,
  scenarioIds,
  SimError,
  splitFrames,
  type Canonical,
  type Manifest,
  type ReadLog,
} from '../../sim/index.ts';
import { writeError } from '../atomic-write.ts';
import { groupDigits, layOut } from '../columns.ts';
import type { Context } from '../context.ts';
import { checkEngine } from '../engine.ts';
import { listDecisions, listEvents } from '../list-records.ts';
import type { OptionsOf } from '../options.ts';
import { findScenario } from '../scenario-input.ts';
import { TRACE_NOTES } from '../trace.ts';
import { sha256Hex, unpackZip, type ZipMember } from '../zip.ts';

/**
 * `sim inspect`: lists a bundle, dumps one member, lists decisions or events; it reads only, and a
 * version that it does not know is a warning, never a refusal (FB-61).
 */
export function run(
  args: readonly string[],
  options: OptionsOf<'inspect'>,
  context: Context,
): number {
  const [text = '', memberName] = args;
  const path = context.path(text);
  const bytes = existsSync(path) ? readInput(path, text) : null;
  if (bytes !== null && bytes[0] === 0x50 && bytes[1] === 0x4b) {
    return inspectBundle(bytes, memberName, options, context);
  }
  if (bytes !== null && bytes[0] === FRAME_MAGIC) return inspectTrace(bytes, options, context);
  return inspectScenario(text, context);
}

function inspectBundle(
  bytes: Uint8Array,
  memberName: string | undefined,
  options: OptionsOf<'inspect'>,
  context: Context,
): number {
  const members = unpackZip(bytes);
  if (options.extract !== undefined) return extract(members, options.extract, context);
  if (memberName !== undefined) return dump(members, memberName, context);
  const manifest = readManifest(members, context);
  if (options.decisions || options.events) {
    const find = (name: string): Uint8Array => {
      return members.find((member) => member.name === name)?.bytes ?? new Uint8Array(0);
    };
    const nodes = nodeNames(members, manifest);
    if (options.decisions) listLog(find('schedule.bin'), LOG_DECISIONS, nodes, options, context);
    if (options.events) listLog(find('events.bin'), LOG_EVENTS, nodes, options, context);
    return 0;
  }
  if (manifest !== null) sayManifest(manifest, sha256Hex(bytes), context);
  const { output } = context;
  for (const { name, bytes: content } of members) {
    output.record({ type: 'member', name, bytes: content.length, sha256: sha256Hex(content) });
  }
  output.say('');
  const rows = members.map(({ name, bytes: content }) => [groupDigits(content.length), name]);
  for (const line of layOut([['bytes', 'member'], ...rows], new Set([0]))) output.say(line);
  return 0;
}

/** The manifest as this version reads it, or null with a warning. */
function readManifest(members: readonly ZipMember[], { output }: Context): Manifest | null {
  const member = members.find(({ name }) => name === 'manifest.cbor');
  if (member === undefined) {
    output.warn('the bundle has no manifest');
    return null;
  }
  try {
    const manifest = decodeManifest(member.bytes);
    for (const warning of checkEngine(manifest.engine)) output.warn(warning);
    return manifest;
  } catch (error) {
    if (!(error instanceof SimError)) throw error;
    output.warn(`${error.message}; members can be dumped and extracted all the same`);
    return error.code === 'identity/engine' ? decodeManifest(member.bytes) : null;
  }
}

function sayManifest(manifest: Manifest, digest: string, { output }: Context): void {
  const { outcome, savepoint, lineage, ids, engine } = manifest;
  output.record({ type: 'bundle', digest, ...manifest, members: manifest.members.length });
  const rows = [
    ['kind', lineage === null ? manifest.kind : `${manifest.kind} (${branchOf(lineage)})`],
    ['name', manifest.name],
    ['seed', String(manifest.seed)],
    ['verdict', savepoint === null ? `${outcome.verdict} (${outcome.reason})` : 'not ended'],
    ['signature', outcome.signature],
    ['decisions', groupDigits(outcome.decisionCount)],
    ['events', groupDigits(outcome.eventCount)],
    ['scenario', ids.scenario],
    ['sha256', digest],
    ['engine', `${engine.name} ${engine.version}, schema ${engine.schema}`],
  ];
  if (savepoint !== null) rows.push(['saved at', savepoint.selector], ['label', savepoint.label]);
  if (lineage !== null) {
    const leftAt = lineage.proof?.selector ?? 'the start, as a smaller scenario';
    rows.push(['parent', lineage.parent], ['left at', leftAt]);
  }
  for (const line of layOut(rows.filter(([, value]) => value !== ''))) output.say(line);
}

function nodeNames(members: readonly ZipMember[], manifest: Manifest | null): readonly string[] {
  if (manifest !== null && manifest.outcome.nodes.length > 0) {
    return manifest.outcome.nodes.map((node) => node.name);
  }
  const scenario = members.find(({ name }) => name === 'scenario.cbor');
  if (scenario === undefined) return [];
  const document = decodeCanonical(scenario.bytes) as {
    readonly world?: { readonly nodes?: readonly { readonly name?: Canonical }[] };
  };
  return (document.world?.nodes ?? []).map(({ name }) => (typeof name === 'string' ? name : '?'));
}

function listLog(
  bytes: Uint8Array,
  kind: number,
  nodes: readonly string[],
  options: OptionsOf<'inspect'>,
  context: Context,
): void {
  const log: ReadLog = readLog(bytes, kind);
  const range = { from: options.from ?? 0, limit: options.limit ?? 100 };
  if (kind === LOG_DECISIONS) listDecisions(decodeDecisions(log), range, context);
  else listEvents(decodeEvents(log), nodes, range, context);
  if (log.damage !== null) {
    const { message, place } = log.damage;
    context.output.warn(`${message} (${place ?? ''}); what stands before it is shown`);
  }
}

/** A trace is readable up to its last whole frame, whatever happened to the process. */
function inspectTrace(bytes: Uint8Array, options: OptionsOf<'inspect'>, context: Context): number {
  const { output } = context;
  const { byKind, wholeBytes } = splitFrames(bytes);
  const part = (kind: number): Uint8Array => byKind.get(kind) ?? new Uint8Array(0);
  if (options.decisions) listLog(part(LOG_DECISIONS), LOG_DECISIONS, [], options, context);
  if (options.events) listLog(part(LOG_EVENTS), LOG_EVENTS, [], options, context);
  for (const [kind, text] of decodeTexts(readLog(part(TRACE_NOTES), TRACE_NOTES), 2)) {
    output.record({ type: kind ?? 'note', text });
    output.say(`${kind ?? 'note'}: ${text ?? ''}`);
  }
  const decisions = readLog(part(LOG_DECISIONS), LOG_DECISIONS);
  const events = readLog(part(LOG_EVENTS), LOG_EVENTS);
  const cut = bytes.length - wholeBytes;
  output.record({
    type: 'trace',
    decision_frames: decisions.frames.length,
    event_frames: events.frames.length,
    decision_chain: decisions.chain,
    event_chain: events.chain,
    cut_bytes: cut,
  });
  output.say(
    `trace with ${decisions.frames.length} frames of decisions and ${events.frames.length} of ` +
      `events${cut === 0 ? '' : `; ${cut} bytes of an unfinished frame follow`}`,
  );
  return 0;
}

function inspectScenario(text: string, context: Context): number {
  const { def, images } = findScenario(text, context);
  const ids = scenarioIds(def);
  const { output } = context;
  output.record({
    type: 'scenario',
    name: def.name,
    seed: def.seed,
    ids,
    nodes: def.world.nodes.map(({ name, guest }) => ({ name, guest: guest.label })),
    events: def.plan.events.map(({ name, atNs, action }) => {
      return { name, at_ns: atNs, kind: action.kind };
    }),
    properties: def.properties.map(({ name, kind }) => ({ name, kind })),
    images: [...images.keys()],
  });
  const rows = [
    ['name', def.name],
    ['seed', def.seed === null ? 'none' : String(def.seed)],
    ['nodes', def.world.nodes.map((node) => node.name).join(', ')],
    ['events', def.plan.events.map((event) => event.name).join(', ')],
    ['properties', def.properties.map((property) => property.name).join(', ')],
    ...Object.entries(ids).map(([part, id]) => [`${part} id`, String(id)]),
  ];
  for (const line of layOut(rows)) output.say(line);
  return 0;
}

function dump(members: readonly ZipMember[], name: string, context: Context): number {
  const member = members.find((candidate) => candidate.name === name);
  if (member === undefined) {
    throw new SimError({
      code: 'input/member',
      message: `the bundle has no member "${name}"`,
      remedy: `it has ${members.map((candidate) => candidate.name).join(', ')}`,
    });
  }
  const { stdout } = context.host;
  if (!name.endsWith('.cbor')) {
    stdout.writeBytes(member.bytes);
    return 0;
  }
  const value = decodeCanonical(member.bytes);
  stdout.write(`${JSON.stringify(value, plainValue, 2)}\n`);
  return 0;
}

function plainValue(_key: string, value: Canonical): Canonical {
  if (value instanceof Uint8Array) return `base64:${Buffer.from(value).toString('base64')}`;
  return typeof value === 'bigint' ? value.toString() : value;
}

/** Names were checked when the bundle was unpacked: none of them leaves the folder. */
function extract(members: readonly ZipMember[], folder: string, context: Context): number {
  const root = context.path(folder);
  if (existsSync(root)) {
    throw new SimError({
      code: 'input/exists',
      message: `"${folder}" exists already`,
      place: folder,
      remedy: 'name a folder that does not exist yet',
    });
  }
  for (const { name, bytes } of members) {
    const path = join(root, name);
    try {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, bytes, { flag: 'wx', mode: name.endsWith('.sh') ? 0o755 : 0o644 });
    } catch (error) {
      throw writeError(path, error);
    }
  }
  context.output.record({ type: 'extracted', folder: root, members: members.length });
  context.output.say(`${members.length} members unpacked into ${folder}`);
  return 0;
}
