import { defineConfig } from 'vitest/config';

// The second tier: toolchains from packages, other engines, fuzzing, soak. One file at a time,
// since most of them keep both cores busy by themselves.
export default defineConfig({
  test: {
    include: ['test/**/*.long.ts'],
    testTimeout: 1_800_000,
    hookTimeout: 1_800_000,
    pool: 'forks',
    maxWorkers: 1,
    fileParallelism: false,
  },
});
