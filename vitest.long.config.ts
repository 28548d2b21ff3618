import { defineConfig } from 'vitest/config';

const inCi = process.env.CI === 'true';

// The second tier: toolchains from packages, other engines, fuzzing, soak. One file at a time,
// since most of them keep both cores busy by themselves.
export default defineConfig({
  test: {
    include: ['test/**/*.long.ts'],
    testTimeout: 1_800_000,
    hookTimeout: 1_800_000,
    pool: 'forks',
    fileParallelism: false,
    reporters: inCi
      ? ['default', ['json', { outputFile: '.athanor/reports/long.json' }]]
      : ['default'],
  },
});
