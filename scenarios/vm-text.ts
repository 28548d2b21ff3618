import { decodeUtf8, encodeUtf8, isUtf8, SimError } from '../sim/index.ts';
import { schemaIssues, toErrors, type Issue } from './issues.ts';
import { parseToml } from './toml.ts';
import { isPath, PATH_RULE, USER, VARIABLE, vmSchema, type VmFields } from './vm-schema.ts';

/** What a machine's image is made of, as a `vm.toml` says it; numbers are bytes. */
export interface VmDescription {
  readonly packages: readonly string[];
  readonly without: readonly string[];
  readonly leaveOut: readonly string[];
  readonly kernel: string;
  readonly modules: readonly string[];
  readonly memoryByteCount: number;
  readonly disk: { readonly byteCount: number; readonly mount: string } | null;
  readonly users: readonly { readonly name: string; readonly id: number }[];
  readonly files: readonly VmFile[];
  readonly environment: readonly (readonly [string, string])[];
  readonly setup: readonly string[];
  readonly main: string | null;
  readonly user: string | null;
  readonly ready: string | null;
}

export interface VmFile {
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly mode: number;
  readonly owner: number;
}

export interface VmLimits {
  readonly memoryByteCountMin: number;
  readonly memoryByteCountMax: number;
  readonly diskByteCountMin: number;
  readonly diskByteCountMax: number;
}

export type VmResult =
  | { readonly ok: true; readonly vm: VmDescription }
  | { readonly ok: false; readonly errors: readonly SimError[] };

/**
 * Reads a `vm.toml`. `file` is how places call it, `read` gives the bytes of a file that a
 * `source` names. All errors come together, each with its place; never throws for bad input.
 */
export function loadVmBytes(
  bytes: Uint8Array,
  file: string,
  read: (source: string) => Uint8Array,
  limits: VmLimits,
): VmResult {
  try {
    if (!isUtf8(bytes)) {
      const message = 'the description of a machine is not UTF-8 text';
      throw new SimError({ code: 'scenario/toml', message, place: file });
    }
    const parsed = parseToml(decodeUtf8(bytes), file);
    const checked = vmSchema.safeParse(parsed.value);
    const source = { file, locate: parsed.locate.bind(parsed) };
    if (!checked.success) {
      return { ok: false, errors: toErrors(schemaIssues(checked.error, parsed.value), source) };
    }
    const issues = contradictions(checked.data, limits);
    if (issues.length > 0) return { ok: false, errors: toErrors(issues, source) };
    return { ok: true, vm: describe(checked.data, read) };
  } catch (error) {
    if (error instanceof SimError) return { ok: false, errors: [error] };
    throw error;
  }
}

/** What each value allows by itself, but not together with the others. */
function contradictions(fields: VmFields, limits: VmLimits): readonly Issue[] {
  const issues: Issue[] = [];
  const say = (path: Issue['path'], message: string): void => {
    issues.push({ code: 'scenario/value', path, message });
  };
  const within = (path: Issue['path'], value: number, least: number, most: number): void => {
    if (value >= least && value <= most) return;
    const mebibytes = (count: number): string => `${count / 1024 ** 2}MiB`;
    say(path, `the size is not within ${mebibytes(least)} to ${mebibytes(most)}`);
  };
  const { machine, disk, users } = fields;
  const { memoryByteCountMin, memoryByteCountMax, diskByteCountMin, diskByteCountMax } = limits;
  within(['machine', 'memory'], machine.memory, memoryByteCountMin, memoryByteCountMax);
  if (disk !== undefined) within(['disk', 'size'], disk.size, diskByteCountMin, diskByteCountMax);
  const known = new Set(['root', 'nobody', ...Object.keys(users)]);
  if (fields.user !== undefined && !known.has(fields.user)) {
    say(['user'], `there is no user "${fields.user}"; \`users\` makes them`);
  }
  const numbers = new Map<number, string>();
  for (const [name, id] of Object.entries(users)) {
    if (!USER.test(name)) say(['users', name], `"${name}" is no name of a user`);
    const other = numbers.get(id);
    if (other !== undefined) say(['users', name], `the number ${id} is that of "${other}"`);
    if (name === 'root' || name === 'nobody') say(['users', name], 'every machine has this user');
    numbers.set(id, name);
  }
  for (const [path, file] of Object.entries(fields.files)) {
    if (!isPath(path)) say(['files', path], PATH_RULE);
    if (typeof file === 'string') continue;
    if ((file.text === undefined) === (file.source === undefined)) {
      say(['files', path], 'a file has either `text` or `source`');
    }
    if (!known.has(file.owner)) say(['files', path, 'owner'], `there is no user "${file.owner}"`);
  }
  for (const name of Object.keys(fields.environment)) {
    if (!VARIABLE.test(name)) say(['environment', name], `"${name}" is no name of a variable`);
  }
  if (fields.ready !== undefined && fields.main === undefined) {
    say(['ready'], 'without `main` nothing can become ready');
  }
  return issues;
}

function describe(fields: VmFields, read: (source: string) => Uint8Array): VmDescription {
  const { machine, disk, users } = fields;
  const numberOf = (name: string): number => {
    if (name === 'root') return 0;
    return name === 'nobody' ? 65_534 : (users[name] ?? 0);
  };
  return {
    packages: fields.packages,
    without: fields.without,
    leaveOut: fields.leave_out,
    kernel: machine.kernel,
    modules: machine.modules.map((name) => name.replaceAll('-', '_')),
    memoryByteCount: machine.memory,
    disk: disk === undefined ? null : { byteCount: disk.size, mount: disk.mount },
    users: Object.entries(users).map(([name, id]) => ({ name, id })),
    files: Object.entries(fields.files).map(([path, file]) => {
      if (typeof file === 'string') {
        return { path, bytes: encodeUtf8(file), mode: 0o644, owner: 0 };
      }
      const { text, source, mode, owner } = file;
      const bytes = text === undefined ? read(source ?? '') : encodeUtf8(text);
      return { path, bytes, mode: Number.parseInt(mode, 8), owner: numberOf(owner) };
    }),
    environment: Object.entries(fields.environment).sort(([a], [b]) => (a < b ? -1 : 1)),
    setup: fields.setup,
    main: fields.main ?? null,
    user: fields.user ?? null,
    ready: fields.ready ?? null,
  };
}
