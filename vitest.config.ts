import { defineConfig } from 'vitest/config';

const inCi = process.env.CI === 'true';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: 'forks',
    maxWorkers: 2,
    reporters: inCi
      ? ['default', ['json', { outputFile: '.athanor/reports/fast.json' }]]
      : ['default'],
  },
});
