import { z } from 'zod';
import { table, text } from './schema-words.ts';

/** The text of a `vm.toml` (docs/images.md). */

export const USER = /^[a-z_][a-z0-9_-]{0,31}$/;
export const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
export const PATH_RULE = 'a path starts with "/", and has no empty, "." or ".." parts';

export function isPath(value: string): boolean {
  return value.length <= 1024 && /^(\/[^/\0]+)+$/.test(value) && !/\/\.\.?(\/|$)/.test(value);
}

/** Bytes: a text such as `64MiB`. */
const size = z.string().transform((value, context) => {
  const match = /^([1-9]\d{0,6})(KiB|MiB|GiB)$/.exec(value);
  if (match !== null) {
    const unit = { KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };
    return Number(match[1]) * unit[match[2] as keyof typeof unit];
  }
  context.addIssue({
    code: 'custom',
    message: `${JSON.stringify(value)} is not a size: write a text like "64MiB"`,
  });
  return z.NEVER;
});

/** deb-control(5), and how apt names a version or a suite. */
const packageName = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9+.-]{0,127}([=/][A-Za-z0-9.+:~-]{1,127})?$/,
    'a package is named like "redis-server", "redis-server=5:7.0.15-1" or "redis-server/bookworm"',
  );
const plainPackage = z
  .string()
  .regex(/^[a-z0-9][a-z0-9+.-]{0,127}$/, 'this is no name of a package');
const moduleName = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'this is no name of a module');
const userName = z.string().regex(USER, 'this is no name of a user');
const line = text.refine((value) => !value.includes('\n'), 'a value has one line');
const path = text.refine(isPath, PATH_RULE);

const file = z.union(
  [
    text,
    table({
      text: text.optional(),
      source: text.optional(),
      mode: z
        .string()
        .regex(/^[0-7]{3,4}$/, 'a mode is written like "0644"')
        .default('0644'),
      owner: userName.default('root'),
    }),
  ],
  'expected a text, or a table with `text` or `source`, `mode` and `owner`',
);

export const vmSchema = table({
  packages: z.array(packageName).max(200).default([]),
  without: z.array(plainPackage).max(500).default([]),
  leave_out: z.array(path).max(500).default([]),
  setup: z.array(text).max(100).default([]),
  main: text.optional(),
  ready: text.optional(),
  user: userName.optional(),
  users: z.record(text, z.int().min(1).max(65_533)).default({}),
  environment: z.record(text, line).default({}),
  files: z.record(text, file).default({}),
  machine: table({
    memory: size.default(256 * 1024 ** 2),
    kernel: packageName.default('linux-image-cloud-amd64'),
    modules: z.array(moduleName).max(100).default([]),
  }).prefault({}),
  disk: table({ size, mount: path.default('/data') }).optional(),
});

export type VmFields = z.output<typeof vmSchema>;
